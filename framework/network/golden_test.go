package network_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/network"
)

// golden is one case of testdata/golden.py.
type golden struct {
	Name          string
	Config        network.Config
	Shapes        map[string][]int64
	Rows, Length  int
	InputIDs      []int64 `json:"input_ids"`
	AttentionMask []int64 `json:"attention_mask"`
	PositionIDs   []int64 `json:"position_ids"`
	Timesteps     []float32
	Logits        map[string][]float32
}

func readGolden(t testing.TB) (out []golden) {
	t.Helper()
	goldenfile.Read(t, "testdata/golden.json.gz", &out)
	return out
}

// formula gives weights as golden.py does.
func formula(c network.Config) network.Values {
	out := network.Values{}
	for _, p := range network.Params(c) {
		h := uint64(14695981039346656037)
		for _, b := range []byte(p.Name) {
			h = (h ^ uint64(b)) * 1099511628211
		}
		scale, shift := 0.3, 0.0
		if len(p.Shape) == 2 {
			scale = math.Sqrt(3 / float64(p.Shape[1]))
		}
		if strings.HasSuffix(p.Name, "norm.weight") {
			shift = 1
		}
		values := make([]float32, p.Len())
		for i := range values {
			x := h + uint64(i)*0x9E3779B97F4A7C15
			x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
			x = (x ^ x>>27) * 0x94D049BB133111EB
			x ^= x >> 31
			values[i] = float32((float64(2*(x>>40)+1)/0x1p24-1)*scale + shift)
		}
		out[p.Name] = values
	}
	return out
}

// batch is the case's inputs: plain, masked (with padding) or placed (with positions, too).
func (g golden) batch(kind string) rows {
	r := rows{b: g.Rows, l: g.Length, ids: g.InputIDs}
	if kind != "plain" {
		r.mask = g.AttentionMask
	}
	if kind == "placed" {
		r.at = g.PositionIDs
	}
	if g.Config.Timed() {
		r.times = g.Timesteps
	}
	return r
}

// The twin in PyTorch gives the same logits, whatever the opset, with sizes known and not, with parameters as constants and
// as inputs.
func TestLogitsArePyTorchs(t *testing.T) {
	for _, g := range readGolden(t) {
		t.Run(g.Name, func(t *testing.T) {
			c := valid(t, g.Config)
			if d := cmp.Diff(g.Config, c); d != "" {
				t.Fatal("the golden config is not filled:", d)
			}
			for _, p := range network.Params(c) {
				if d := cmp.Diff(g.Shapes[p.Name], p.Shape); d != "" {
					t.Error(p.Name, d)
				}
				delete(g.Shapes, p.Name)
			}
			if len(g.Shapes) > 0 {
				t.Fatal("not among the parameters:", g.Shapes)
			}
			values := formula(c)
			for kind, want := range g.Logits {
				r := g.batch(kind)
				first := logits(t, c, values, r)
				near(t, kind, want, first, 1e-5)
				for what, change := range map[string]func(*rows){
					"opset 17":            func(r *rows) { r.opset = 17 },
					"opset 23":            func(r *rows) { r.opset = 23 },
					"B and L known":       func(r *rows) { r.fixedB, r.fixedL = true, true },
					"L known":             func(r *rows) { r.fixedL = true },
					"B known":             func(r *rows) { r.fixedB = true },
					"parameters as input": func(r *rows) { r.parametersInput = true },
				} {
					other := g.batch(kind)
					change(&other)
					near(t, kind+", "+what, first, logits(t, c, values, other), 2e-6)
				}
			}
		})
	}
}
