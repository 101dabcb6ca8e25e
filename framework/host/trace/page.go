package trace

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/view/page"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// WritePage writes the trace as the page that `mdmhost sample --trace FILE.html` would have made of the run, with the same
// limit: it returns how many rows had no room.
func (t *Trace) WritePage(w io.Writer) (leftOut int, err error) {
	if err := page.Start(w); err != nil {
		return 0, err
	}
	out := &measured{w: w}
	enc := json.NewEncoder(out) // writes "<" as \u003c, wherever it comes from
	header := t.Header
	if t.mask >= 0 {
		header.MaskID = &t.mask
	}
	if err := enc.Encode(header); err != nil {
		return 0, err
	}
	if len(t.pieces) > 0 {
		e := sampling.TraceEvent{Event: sampling.TraceTokens, Pieces: t.pieces}
		for id := range t.special {
			e.Special = append(e.Special, id)
		}
		slices.Sort(e.Special)
		if err := enc.Encode(e); err != nil {
			return 0, err
		}
	}
	leftOut = t.LeftOut
	for _, r := range t.Rows {
		if out.n > page.Limit {
			leftOut++
			continue
		}
		if err := r.write(enc); err != nil {
			return 0, err
		}
	}
	if leftOut > 0 {
		if err := enc.Encode(sampling.TraceEvent{Event: sampling.TraceLeftOut, Count: leftOut}); err != nil {
			return 0, err
		}
	}
	return leftOut, page.End(w)
}

func (r *Row) write(enc *json.Encoder) error {
	if err := enc.Encode(sampling.TraceEvent{Event: sampling.TraceRow, Row: r.Index, Tokens: r.Start, Free: r.Free}); err != nil {
		return err
	}
	for _, s := range r.Steps {
		if err := enc.Encode(s); err != nil {
			return err
		}
	}
	if r.End == nil {
		return nil
	}
	return enc.Encode(r.End)
}

// measured counts what is written.
type measured struct {
	w io.Writer
	n int64
}

func (m *measured) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.n += int64(n)
	return n, err
}
