package artifact

import (
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Manifest is manifest.json: what the vectors and the inputs of the graphs mean.
type Manifest struct {
	Format     string         `json:"format"`
	Version    int            `json:"version"`
	Rows       int            `json:"rows"`
	EvalRows   int            `json:"eval_rows"`
	Length     int            `json:"length"`
	Parameters []Parameter    `json:"parameters"`
	Frozen     []Parameter    `json:"frozen,omitempty"`
	Inputs     []Input        `json:"inputs"` // that the host fills
	Training   []string       `json:"training_inputs"`
	Eval       []string       `json:"eval_inputs"`
	Metrics    []string       `json:"training_metrics"`
	EvalMetric []string       `json:"eval_metrics"`
	Bound      spec.BoundKind `json:"bound"`
	Adam       AdamW          `json:"optimizer"`
}

// Input is an input that the host fills for every pass.
type Input struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Shape   []string `json:"shape"`
	Sampler string   `json:"sampler,omitempty"`
	Eps     float64  `json:"eps,omitempty"`
}

// Size is the length P of the flat vector.
func (m *Manifest) Size() int64 { return total(m.Parameters) }

// Still is the length of the flat vector of frozen parameters.
func (m *Manifest) Still() int64 { return total(m.Frozen) }

func total(ps []Parameter) int64 {
	if len(ps) == 0 {
		return 0
	}
	last := &ps[len(ps)-1]
	return last.Offset + last.Size()
}

const (
	manifestFormat  = "mdmhost training artifacts"
	manifestVersion = 1
)

func (k *composer) manifest(s *Set) Manifest {
	m := Manifest{Format: manifestFormat, Version: manifestVersion, Rows: k.Rows, EvalRows: k.EvalRows, Length: k.Length,
		Parameters: k.trained, Frozen: k.frozen, Bound: k.Reply.Spec.Bound, Adam: k.Adam}
	feeds := func(m *graph.Model) []string {
		var out []string
		for _, v := range m.Graph.Feeds() {
			if v.Name != Params && v.Name != Frozen {
				out = append(out, v.Name)
			}
		}
		return out
	}
	m.Eval, m.EvalMetric = feeds(s.Eval), metrics(s.Eval.Graph)
	if s.Training != nil {
		m.Training, m.Metrics = feeds(s.Training), metrics(s.Training.Graph)
	}
	for _, in := range k.Reply.Spec.Inputs {
		if !slices.Contains(m.Training, in.Name) && !slices.Contains(m.Eval, in.Name) {
			continue
		}
		shape := make([]string, len(in.Shape))
		for i, d := range in.Shape {
			shape[i] = d.String()
		}
		m.Inputs = append(m.Inputs, Input{Name: in.Name, Kind: string(in.Kind), Shape: shape, Sampler: string(in.Sampler), Eps: in.Eps})
	}
	return m
}

// metrics are the names NAME of outputs metric.NAME.sum.
func metrics(g *graph.Graph) []string {
	out := []string{}
	for _, v := range g.Outputs {
		if name, ok := metricOf(v.Name); ok {
			out = append(out, name)
		}
	}
	return out
}

// metricOf is NAME of metric.NAME.sum.
func metricOf(output string) (name string, ok bool) {
	name, ok = strings.CutPrefix(output, spec.MetricPrefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, spec.SumSuffix)
}
