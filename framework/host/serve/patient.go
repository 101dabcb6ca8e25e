package serve

import (
	"net/http"
	"time"
)

// patient writes to a client that may be slow, but must read: one that takes nothing for a while is given up.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	most    time.Duration // for a piece
}

// piece is what a client must take in its time.
const piece = 64 << 10

func newPatient(w http.ResponseWriter, most time.Duration) *patient {
	return &patient{w, http.NewResponseController(w), most}
}

// Unwrap is for [http.ResponseController].
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write writes piece by piece, each with its own deadline.
func (p *patient) Write(text []byte) (n int, err error) {
	for len(text) > 0 {
		if err := p.control.SetWriteDeadline(time.Now().Add(p.most)); err != nil {
			return n, err
		}
		wrote, err := p.ResponseWriter.Write(text[:min(len(text), piece)])
		n += wrote
		if err != nil {
			return n, err
		}
		text = text[wrote:]
	}
	return n, nil
}

// event writes a whole event and sends it off.
func (p *patient) event(text []byte) error {
	if _, err := p.Write(text); err != nil {
		return err
	}
	return p.control.Flush()
}

// data writes an event that holds a value.
func (p *patient) data(v any) error {
	text, err := marshal(v)
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(text)+8)
	out = append(append(append(out, "data: "...), text...), '\n') // the line of JSON has its own end
	return p.event(out)
}
