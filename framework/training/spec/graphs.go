package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// checkGraph decodes one graph, infers all its types and shapes with the declared inputs and networks, and holds the outputs
// against what they must be.
func checkGraph(which string, file []byte, task *Task, s *Spec, outputs func(*Task, map[string]graph.Value) error) error {
	fail := func(format string, args ...any) error {
		return violation("%s: %s", which, fmt.Sprintf(format, args...))
	}
	if len(file) == 0 {
		return fail("it is missing; expected an ONNX graph")
	}
	m, err := graph.Decode(file)
	if err != nil {
		return fail("%v", err)
	}
	if m.Graph == nil {
		return fail("the file holds no graph; expected an ONNX model")
	}
	if at := m.External(); len(at) > 0 {
		return fail("its tensors are in %q; expected them in the graph", at)
	}
	if v := m.Opset(""); v != task.Opset {
		return fail("its opset is %d; expected %d, as the task says", v, task.Opset)
	}
	b := graph.NewBuilder(which, task.Opset)
	bind := map[string]graph.Value{}
	for _, v := range m.Graph.Feeds() {
		typ, shape, err := s.declared(v.Name, task)
		if err != nil {
			return fail("%v", err)
		}
		if v.Type != typ || v.HasRank && !fits(v.Shape, shape) {
			return fail("input %q is %s%s; its kind is %s%s", clip(v.Name), v.Type, shapeText(v.Shape), typ, shapeText(shape))
		}
		bind[v.Name] = b.Input(v.Name, typ, shape...)
	}
	for _, n := range s.Networks {
		b.DeclareNetwork(n.Name, n.Signature)
	}
	values := b.Replay(m, bind, nil)
	if err := b.Err(); err != nil {
		text := strings.TrimPrefix(err.Error(), "graph "+which+": ")
		if at, rest, found := strings.Cut(text, ".go:"); found && !strings.Contains(at, " ") { // a line of the host, not of the author
			_, text, _ = strings.Cut(rest, ": ")
		}
		return fail("%s", text)
	}
	if err := outputs(task, values); err != nil {
		return fail("%v", err)
	}
	return nil
}

// declared is the type and shape of a graph's input.
func (s *Spec) declared(name string, t *Task) (graph.Type, []graph.Dim, error) {
	if in := s.input(name); in != nil {
		return in.Kind.Type(), in.Shape, nil
	}
	for _, p := range s.Params {
		if p.Name == name {
			shape := make([]graph.Dim, len(p.Shape))
			for i, d := range p.Shape {
				shape[i] = graph.Known(d)
			}
			return graph.Float32, shape, nil
		}
	}
	return 0, nil, fmt.Errorf("input %q stands neither in the spec's inputs nor in its parameters; declare it there, or make it an initializer", clip(name))
}

// fits tells whether a shape in a file can be the declared one: sizes that are numbers in both are equal.
func fits(file, declared []graph.Dim) bool {
	return slices.EqualFunc(file, declared, func(d, e graph.Dim) bool { return !d.IsKnown() || !e.IsKnown() || d.Size == e.Size })
}

// trainingOutputs are loss and metrics.
func trainingOutputs(t *Task, values map[string]graph.Value) error {
	v, ok := values[Loss]
	if !ok {
		return fmt.Errorf("it has no output %q; expected a float32 scalar", Loss)
	}
	if !isScalar(v) {
		return fmt.Errorf("output %q is %s; expected a float32 scalar: reduce it over rows and positions", Loss, typeText(v))
	}
	return metricOutputs(t, values, Loss)
}

// evalOutputs are bound, count and metrics.
func evalOutputs(t *Task, values map[string]graph.Value) error {
	for _, name := range []string{RowBound, RowCount} {
		v, ok := values[name]
		if !ok {
			return fmt.Errorf("it has no output %q; expected float32 [B]", name)
		}
		if !isRows(t, v) {
			return fmt.Errorf("output %q is %s; expected float32 [B], one number a row", name, typeText(v))
		}
	}
	return metricOutputs(t, values, RowBound, RowCount)
}

// metricOutputs holds the outputs besides others against what metrics are.
func metricOutputs(t *Task, values map[string]graph.Value, others ...string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(others, name) {
			continue
		}
		metric, isMetric := strings.CutPrefix(name, MetricPrefix)
		base, isSum := strings.CutSuffix(metric, SumSuffix)
		base, isCount := strings.CutSuffix(base, CountSuffix)
		if !isMetric || !isSum && !isCount || base == "" {
			return fmt.Errorf("output %q: expected %s, or metrics named %sNAME%s and %sNAME%s", clip(name), strings.Join(others, ", "), MetricPrefix, SumSuffix, MetricPrefix, CountSuffix)
		}
		sum, hasSum := values[MetricPrefix+base+SumSuffix]
		count, hasCount := values[MetricPrefix+base+CountSuffix]
		switch {
		case !hasSum || !hasCount:
			return fmt.Errorf("metric %q: it has only one of sum and count; expected both", clip(base))
		case isRows(t, sum) && isRows(t, count), isScalar(sum) && isScalar(count):
			continue
		}
		return fmt.Errorf("metric %q: its sum and count are %s and %s; expected float32 [B] both, or float32 scalars", clip(base), typeText(sum), typeText(count))
	}
	return nil
}

func isScalar(v graph.Value) bool {
	return v.Type() == graph.Float32 && v.HasRank() && v.Rank() == 0
}

// isRows tells whether v is float32 [B]; a dimension without a name may be B.
func isRows(t *Task, v graph.Value) bool {
	if v.Type() != graph.Float32 || !v.HasRank() || v.Rank() != 1 {
		return false
	}
	d, rows := v.Dim(0), t.RowsDim()
	return d == rows || !d.IsKnown() && d.Name != t.LengthDim().Name
}

func typeText(v graph.Value) string {
	if !v.HasRank() {
		return v.Type().String() + " of unknown rank"
	}
	return v.Type().String() + " " + shapeText(v.Shape())
}
