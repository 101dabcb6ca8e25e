package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// What `mdmhost model show` says of rows that grow, and that it says nothing of others'.
func TestDescribeGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		unmask   bool
		want     *model.Growth
	}{
		"masked":  {`{}`, false, nil},
		"flexmdm": {`{"family": "insertion", "schedule": {"kind": "linear"}, "gap": "eos", "length": {"cap": 7}}`, false, &model.Growth{Gap: "eos", Cap: 7, A: 1}},
		"loflexmdm": {`{"family": "insertion", "schedule": {"kind": "kumaraswamy", "a": 2}, "length": {"cap": 8}}`, true,
			&model.Growth{Gap: "n+1", Cap: 8, A: 2, UnmaskRates: true}},
	} {
		f := newFixture().with("mdm.json", c.manifest)
		if c.want != nil {
			f.input(value("timesteps", graph.Float32, batch))
			f.graph.Graph.Outputs = append(f.graph.Graph.Outputs, value("insertion_rate", graph.Float32, batch, graph.Named("gaps")))
		}
		if c.unmask {
			f.graph.Graph.Outputs = append(f.graph.Graph.Outputs, value("unmask_rate", graph.Float32, batch, graph.Named("seq")))
		}
		d, err := f.open(t).Describe()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, d.Growth); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
