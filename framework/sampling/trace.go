package sampling

import (
	"bufio"
	"encoding/json"
	"io"
)

// TraceVersion is the version of the trace format; readers refuse newer ones.
const TraceVersion = 1

// TraceHeader is the first line of a trace.
type TraceHeader struct {
	Trace   int    `json:"trace"` // TraceVersion
	Seed    uint64 `json:"seed"`
	Model   string `json:"model"`
	Sampler string `json:"sampler"`
	Planner string `json:"planner"`
	Options any    `json:"options,omitempty"`
}

// TraceEvent is one further line: a row that was admitted (its tokens), one step of it, or its end.
type TraceEvent struct {
	Event    string             `json:"event"` // "row", "step" or "end"
	Row      int64              `json:"row"`
	Step     int                `json:"step"`
	NFE      int                `json:"nfe"`
	Tokens   []int32            `json:"tokens,omitempty"`   // row: the canvas at the start; end: the result
	Opened   [][2]int32         `json:"opened,omitempty"`   // [position, token]
	Remasked []int32            `json:"remasked,omitempty"` // positions
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	Finish   Finish             `json:"finish,omitempty"`
	Error    string             `json:"error,omitempty"`
}

// Trace is an [Observer] that writes every step as a line of JSON.
type Trace struct {
	w   *bufio.Writer
	enc *json.Encoder
	err error
}

// NewTrace writes the header. The trace is complete after [Trace.Flush].
func NewTrace(w io.Writer, h TraceHeader) *Trace {
	b := bufio.NewWriter(w)
	t := &Trace{w: b, enc: json.NewEncoder(b)}
	h.Trace = TraceVersion
	t.put(h)
	return t
}

func (t *Trace) put(v any) {
	if t.err == nil {
		t.err = t.enc.Encode(v)
	}
}

// Flush writes what is buffered and returns the first error of the trace.
func (t *Trace) Flush() error {
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}

// Admitted implements [Observer].
func (t *Trace) Admitted(f Frame) {
	t.put(TraceEvent{Event: "row", Row: f.Index, Tokens: f.Tokens})
}

// Stepped implements [Observer].
func (t *Trace) Stepped(f Frame) {
	e := TraceEvent{Event: "step", Row: f.Index, Step: f.Step, NFE: f.NFE, Remasked: f.Remasked, Metrics: f.Metrics}
	for _, p := range f.Opened {
		e.Opened = append(e.Opened, [2]int32{p, f.Tokens[p]})
	}
	t.put(e)
}

// Finished implements [Observer].
func (t *Trace) Finished(r Result) {
	e := TraceEvent{Event: "end", Row: r.Index, Step: r.Steps, NFE: r.NFE, Tokens: r.Tokens, Finish: r.Finish}
	if r.Err != nil {
		e.Error = r.Err.Error()
	}
	t.put(e)
}
