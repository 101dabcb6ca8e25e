package autodiff_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Every variant of our networks, in every way of writing the backward pass, with sizes known and not: gradients by all
// parameters are those of the twin in PyTorch.
func TestNetworks(t *testing.T) {
	var cases []struct {
		Config network.Config
		batch
	}
	goldenfile.Read(t, "testdata/network.json.gz", &cases)
	for _, g := range cases {
		worst := 0.0
		for _, r := range []struct {
			form  string
			opset int64
			known bool
		}{{"plain", 17, false}, {"plain", 20, true}, {"kernels", 20, false}, {"recompute", 23, true}, {"all", 23, false}} {
			rows, length := graph.Named("B"), graph.Named("L")
			if r.known {
				rows, length = graph.Known(g.Rows), graph.Known(g.Length)
			}
			t.Run(fmt.Sprintf("%s/%s/%d", g.Name, r.form, r.opset), func(t *testing.T) {
				c := g.Config.Filled()
				b := newTraining(g.batch, r.opset, rows, length, 8, func(b *training, ids, mask graph.Value) graph.Value {
					inputs := map[string]graph.Value{"input_ids": ids, "attention_mask": mask}
					if c.Timed() {
						inputs["timesteps"] = b.Input("timesteps", graph.Float32, rows)
						b.feeds["timesteps"] = graph.OfFloats("timesteps", []int64{g.Rows}, g.Timesteps)
					}
					for i, p := range network.Params(c) {
						b.param(graph.OfFloats(p.Name, p.Shape, formula(p, i)))
					}
					return network.Build(b.Builder, c, b.params, inputs)["logits"]
				})
				e := b.compare(t, g.batch, forms[r.form])
				if !(e <= 1e-5) {
					t.Errorf("worst relative error %.1e, want 1e-5", e)
				}
				worst = math.Max(worst, e)
			})
		}
		t.Logf("%s: worst relative error %.1e", g.Name, worst)
	}
}

// formula gives weights as network.py does.
func formula(p network.Param, seed int) []float32 {
	scale, shift := 0.3, 0.0
	if len(p.Shape) == 2 {
		scale = math.Sqrt(3 / float64(p.Shape[1]))
	}
	if strings.HasSuffix(p.Name, "norm.weight") {
		shift = 1
	}
	out := make([]float32, p.Len())
	for i := range out {
		x := math.Sin(12.9898*float64(i+1)+78.233*float64(seed+1)) * 43758.5453
		unit := float64(float32(2*(x-math.Floor(x)) - 1))
		out[i] = float32(unit*scale + shift)
	}
	return out
}
