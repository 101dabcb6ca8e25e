package spec

import (
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Kind says where an input's numbers come from. Each kind has one element type and shape.
type Kind string

// Data.
const (
	Tokens        Kind = "tokens"         // int64 [B, L]: the rows, clean; padded at the end
	Lengths       Kind = "lengths"        // int64 [B]: real tokens of each row
	AttentionMask Kind = "attention_mask" // int64 [B, L]: 1 = real token, 0 = padding
	Fixed         Kind = "fixed"          // bool [B, L]: never masked nor scored (prompt, special tokens); padding is not
	Free          Kind = "free"           // bool [B, L]: real and not fixed: what is masked and scored
)

// Noise, drawn by the host from the run's seed and the input's name; see package diffusion.
const (
	// Uniform is float32 [B, ...]: (k + 1/2) / 2^23 with 23 random bits k, strictly inside (0, 1). Dimensions after the
	// first are L or small numbers; noise is never as wide as the vocabulary.
	Uniform Kind = "uniform"
	// Time is float32 [B] or [B, 1], strictly inside (0, 1) and clamped to [Eps, 1-Eps]; Sampler says how the rows of a batch
	// share their draws.
	Time Kind = "time"
	// Rank is int64 [B, L]: a random permutation of 0, 1, ..., n-1 over the n free positions of each row, and [Unranked]
	// elsewhere. "rank < k" is a uniform choice of k free positions.
	Rank Kind = "rank"
)

// Scalars of the step.
const (
	Step     Kind = "step"     // float32 []: steps done before this one, exact below 2^24
	Progress Kind = "progress" // float32 []: the part of the run that is done, in [0, 1)
)

// Unranked is the rank of a position that is not free; float32 holds it, too.
const Unranked = 1 << 30

// Input is an input of the graphs.
type Input struct {
	Name    string // of the graph's input
	Kind    Kind
	Shape   []graph.Dim           // as the graph declares it, with the task's names for B and L
	Sampler diffusion.TimeSampler // of Time
	Eps     float64               // of Time: clamped to [Eps, 1-Eps], 0 <= Eps < 1/2
}

// form is the type and the shape of a kind.
type form struct {
	typ   graph.Type
	shape string // "B", "B L", ...; "?" is the input's own business
}

var forms = map[Kind]form{
	Tokens: {graph.Int64, "B L"}, Lengths: {graph.Int64, "B"}, AttentionMask: {graph.Int64, "B L"}, Fixed: {graph.Bool, "B L"}, Free: {graph.Bool, "B L"},
	Uniform: {graph.Float32, "?"}, Time: {graph.Float32, "?"}, Rank: {graph.Int64, "B L"}, Step: {graph.Float32, ""}, Progress: {graph.Float32, ""},
}

// Kinds lists the kinds of input.
func Kinds() []Kind {
	return []Kind{Tokens, Lengths, AttentionMask, Fixed, Free, Uniform, Time, Rank, Step, Progress}
}

// Type is the element type of a kind, Undefined for an unknown kind.
func (k Kind) Type() graph.Type { return forms[k].typ }

// Shape is the shape of a kind of input in a task; ok is false for the kinds whose inputs choose their own (Uniform, Time).
func (k Kind) Shape(t *Task) (shape []graph.Dim, ok bool) {
	f := forms[k]
	for _, name := range strings.Fields(f.shape) {
		switch name {
		case "B":
			shape = append(shape, t.RowsDim())
		case "L":
			shape = append(shape, t.LengthDim())
		default:
			return nil, false
		}
	}
	return shape, true
}

// widest is how many numbers a uniform may have for each row or position.
const widest = 64

// check holds an input against its kind.
func (in *Input) check(t *Task) error {
	what := "input " + quote(in.Name)
	if _, known := forms[in.Kind]; !known {
		return violation("%s: its kind is %s; expected one of %s", what, quote(string(in.Kind)), kindNames())
	}
	if in.Name == "" {
		return violation("%s of kind %s: the name is empty; expected the name of the graph's input", what, in.Kind)
	}
	if shape, set := in.Kind.Shape(t); set && !graph.SameShape(shape, in.Shape) {
		return violation("%s of kind %s: its shape is %s; expected %s", what, in.Kind, shapeText(in.Shape), shapeText(shape))
	}
	switch in.Kind {
	case Uniform:
		return in.checkUniform(what, t)
	case Time:
		rows := []graph.Dim{t.RowsDim()}
		if !graph.SameShape(in.Shape, rows) && !graph.SameShape(in.Shape, append(rows, graph.Known(1))) {
			return violation("%s of kind time: its shape is %s; expected [B] or [B, 1]", what, shapeText(in.Shape))
		}
		if _, err := diffusion.ParseTimeSampler(string(in.Sampler)); err != nil {
			return violation("%s: %v", what, err)
		}
		if !(in.Eps >= 0 && in.Eps < 0.5) {
			return violation("%s: eps is %v; expected 0 <= eps < 0.5", what, in.Eps)
		}
	}
	return nil
}

func (in *Input) checkUniform(what string, t *Task) error {
	if len(in.Shape) == 0 || !graph.SameShape(in.Shape[:1], []graph.Dim{t.RowsDim()}) {
		return violation("%s of kind uniform: its shape is %s; expected the batch B as its first dimension", what, shapeText(in.Shape))
	}
	n := int64(1)
	for _, d := range in.Shape[1:] {
		switch {
		case graph.SameShape([]graph.Dim{d}, []graph.Dim{t.LengthDim()}):
		case !d.IsKnown() || d.Size < 1:
			return violation("%s of kind uniform: its shape is %s; expected L or numbers after the batch", what, shapeText(in.Shape))
		case d.Size > widest || n*d.Size > widest:
			return violation("%s of kind uniform: its shape is %s; expected at most %d numbers for a position, never as many as the vocabulary has", what, shapeText(in.Shape), widest)
		default:
			n *= d.Size
		}
	}
	return nil
}

func kindNames() string {
	names := make([]string, 0, len(forms))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// input finds an input by name.
func (s *Spec) input(name string) *Input {
	i := slices.IndexFunc(s.Inputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Inputs[i]
}
