package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Report says what was found in a file and what was changed.
type Report struct {
	Parameters   int   // tensors
	Elements     int64 // numbers in them
	Tied         []Tied
	Unshared     []Unshared
	Shared       []Shared
	Renamed      []Renamed
	Frozen       []Frozen
	Rows, Length int      // fixed B and L of the file, 0 = any
	Sliced       []string // position tables that end at the fixed length, though the model had more positions
	Positions    int      // of the model before it was exported, where Sliced has entries
}

// Tied is a tensor of the file that is the same as a parameter, or its transpose.
type Tied struct {
	Parameter, Tensor string
	Transposed        bool
}

// Unshared is a tensor of the file that stood for several of equal elements.
type Unshared struct {
	Tensor string
	Parts  []string
}

// Shared is a parameter that the network uses several times.
type Shared struct {
	Parameter string
	Uses      int
}

// Renamed is a tensor whose name in the file says nothing.
type Renamed struct{ Tensor, Parameter string }

// Frozen is a tensor that could be trained and is not.
type Frozen struct{ Name, Reason string }

// count adds a parameter.
func (r *Report) count(c *candidate) {
	t := c.places[0].tensor
	r.Parameters++
	r.Elements += elements(t)
	if len(c.uses) > 1 {
		r.Shared = append(r.Shared, Shared{c.name, len(c.uses)})
	}
	if !readable(t.Name) {
		r.Renamed = append(r.Renamed, Renamed{t.Name, c.name})
	}
}

// reportShape tells of sizes that the exporter fixed.
func (r *reader) reportShape(all []*candidate) {
	p, out := &r.ports, r.report
	out.Rows, out.Length = int(max(0, p.rows.Size)), int(max(0, p.length.Size))
	if out.Length == 0 || out.Length >= r.Positions {
		return
	}
	for _, c := range all {
		d := c.places[0].tensor.Dims
		if n := len(d); n >= 2 && d[n-2] == p.length.Size && !slices.ContainsFunc(d[:n-2], func(d int64) bool { return d != 1 }) &&
			slices.ContainsFunc(c.uses, func(u use) bool { return graph.Key(u.node) == "Add" }) {
			out.Sliced, out.Positions = append(out.Sliced, c.name), r.Positions
		}
	}
}

// String is the report in lines for people.
func (r *Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%d parameters, %d numbers", r.Parameters, r.Elements)
	for _, t := range r.Tied {
		how := ""
		if t.Transposed {
			how = "the transpose of "
		}
		line("tied: %s is %s%s", t.Tensor, how, t.Parameter)
	}
	for _, u := range r.Unshared {
		line("told apart: %s was merged by the exporter, it is %d parameters: %s", u.Tensor, len(u.Parts), strings.Join(u.Parts, ", "))
	}
	for _, s := range r.Shared {
		line("shared: %s is used %d times", s.Parameter, s.Uses)
	}
	for _, f := range r.Frozen {
		line("not trained: %s (%s)", f.Name, f.Reason)
	}
	if r.Rows > 0 {
		line("fixed: the batch is always %d rows", r.Rows)
	}
	if r.Length > 0 {
		line("fixed: rows are always %d positions long", r.Length)
	}
	for _, s := range r.Sliced {
		line("cut: %s has %d of the model's %d positions; export with a dynamic length to train them all", s, r.Length, r.Positions)
	}
	return b.String()
}
