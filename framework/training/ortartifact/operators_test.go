package ortartifact_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/ortartifact"
)

var types = map[string]graph.Type{"float32": graph.Float32, "int64": graph.Int64, "int32": graph.Int32, "bool": graph.Bool}

// Every function computes what the training build's operator does (testdata/operators.py).
func TestOperators(t *testing.T) {
	var cases []struct {
		Op              string
		Attributes      map[string]any
		Inputs, Outputs []array
	}
	goldenfile.Read(t, "testdata/operators.json.gz", &cases)
	worst := map[string]float64{}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%s/%d", c.Op, i), func(t *testing.T) {
			g := &graph.Graph{Name: c.Op}
			node := &graph.Node{Name: c.Op, Op: c.Op, Domain: graph.Contrib}
			for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
				switch v := c.Attributes[name].(type) {
				case string:
					node.Attributes = append(node.Attributes, graph.String(name, v))
				case float64:
					if name == "alpha" {
						node.Attributes = append(node.Attributes, graph.Float(name, float32(v)))
					} else {
						node.Attributes = append(node.Attributes, graph.Int(name, int64(v)))
					}
				}
			}
			feeds := map[string]array{}
			for j, in := range c.Inputs {
				name := fmt.Sprintf("x%d", j)
				shape := []graph.Dim{}
				for _, d := range in.Dims {
					shape = append(shape, graph.Known(d))
				}
				node.Inputs = append(node.Inputs, name)
				feeds[name] = in
				if len(in.Data) == 0 { // a feed of nothing
					g.Initializers = append(g.Initializers, graph.OfInts(name, []int64{0}, nil))
					continue
				}
				g.Inputs = append(g.Inputs, &graph.ValueInfo{Name: name, Type: types[in.Type], HasRank: true, Shape: shape})
			}
			g.Nodes = []*graph.Node{node}
			var asked []string
			for j, out := range c.Outputs {
				name := fmt.Sprintf("y%d", j)
				node.Outputs = append(node.Outputs, name)
				asked = append(asked, name+".float")
				shape := []graph.Dim{}
				for _, d := range out.Dims {
					shape = append(shape, graph.Known(d))
				}
				g.Nodes = append(g.Nodes, &graph.Node{Op: "Cast", Inputs: []string{name}, Outputs: asked[j : j+1], Attributes: []*graph.Attribute{graph.Int("to", 1)}})
				g.Outputs = append(g.Outputs, &graph.ValueInfo{Name: asked[j], Type: graph.Float32, HasRank: true, Shape: shape})
			}
			m, err := ortartifact.Adapt(&graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}, {Domain: graph.Contrib, Version: 1}}, Graph: g})
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, m, feeds, asked...)
			for j, out := range c.Outputs {
				if c.Op == "BroadcastGradientArgs" { // in any order
					slices.Sort(out.Data)
				}
				e := distance(t, out.Data, got[asked[j]])
				if worst[c.Op] = max(worst[c.Op], e); !(e < 2e-6) {
					t.Errorf("output %d differs by %g\ngot  %v\nwant %v", j, e, got[asked[j]], out.Data)
				}
			}
		})
	}
	t.Log(worst)
}
