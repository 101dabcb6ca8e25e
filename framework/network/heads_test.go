package network_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// growing is the config of an insertion model.
func growing(t testing.TB, c network.Config) network.Config {
	c.VocabSize, c.HiddenSize, c.Layers, c.Heads, c.MaxPositions, c.Bias, c.Gaps = 29, 32, 2, 4, 24, true, network.GapsEOS
	return valid(t, c)
}

// headed is one case of testdata/heads.py.
type headed struct {
	golden
	Outputs   map[string][]float32
	Gradients map[string]float64
}

func readHeads(t *testing.T) (out []headed) {
	t.Helper()
	goldenfile.Read(t, "testdata/heads.json.gz", &out)
	return out
}

// TestHeadsArePyTorchs holds what networks give beside logits against the twin in PyTorch.
func TestHeadsArePyTorchs(t *testing.T) {
	for _, g := range readHeads(t) {
		t.Run(g.Name, func(t *testing.T) {
			c := valid(t, g.Config)
			if d := cmp.Diff(g.Config, c); d != "" {
				t.Fatal("the golden config is not filled:", d)
			}
			values := formula(c)
			for _, p := range network.Params(c) {
				if d := cmp.Diff(g.Shapes[p.Name], p.Shape); d != "" {
					t.Error(p.Name, d)
				}
			}
			if len(network.Params(c)) != len(g.Shapes) {
				t.Fatalf("%d parameters, want %d", len(network.Params(c)), len(g.Shapes))
			}
			for _, name := range []string{"insertion.down.weight", "unmask.down.weight"} {
				for i := range values[name] {
					values[name][i] *= 12
				}
			}
			m, err := network.Export(c, values, network.ExportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := g.batch("masked")
			got := runAll(t, m, r, map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask}, map[string][]float32{"timesteps": r.times},
				slices.Collect(maps.Keys(g.Outputs))...)
			for name, want := range g.Outputs {
				if strings.HasSuffix(name, "_rate") { // over many orders of magnitude
					want, got[name] = logarithms(want), logarithms(got[name])
				}
				near(t, name, want, got[name], 5e-5)
			}
			for i, p := range network.Signature(c).Outputs {
				if m.Graph.Outputs[i].Name != p.Name || fmt.Sprint(m.Graph.Outputs[i].Shape) != fmt.Sprint(p.Shape) {
					t.Errorf("output %d is %s %v, want %s %v", i, m.Graph.Outputs[i].Name, m.Graph.Outputs[i].Shape, p.Name, p.Shape)
				}
			}
		})
	}
}

// TestGradientsOfHeadsArePyTorchs holds the gradient of a sum of rates or scores by each parameter against the twin in PyTorch.
func TestGradientsOfHeadsArePyTorchs(t *testing.T) {
	waves := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(math.Cos(float64(i + 1)))
		}
		return out
	}
	for _, g := range readHeads(t) {
		t.Run(g.Name, func(t *testing.T) {
			c, r := valid(t, g.Config), g.batch("masked")
			values, params, inputs := formula(c), map[string]graph.Value{}, map[string]graph.Value{}
			b := graph.NewBuilder("test", graph.DefaultOpset)
			var of []graph.Value
			for _, p := range network.Params(c) {
				params[p.Name] = b.Initializer(graph.OfFloats(p.Name, p.Shape, values[p.Name]))
				of = append(of, params[p.Name])
			}
			for _, name := range []string{"input_ids", "attention_mask"} {
				inputs[name] = b.Input(name, graph.Int64, graph.Dims(r.b, r.l)...)
			}
			if c.Timed() {
				inputs["timesteps"] = b.Input("timesteps", graph.Float32, graph.Dims(r.b)...)
			}
			got, sum := network.Build(b, c, params, inputs), b.Float(0)
			for _, p := range network.Signature(c).Outputs {
				if p.Name == "logits" {
					continue
				}
				n := graph.Volume(got[p.Name].Shape())
				sum = b.Add(sum, b.ReduceSum(b.Mul(b.Reshape(got[p.Name], n), b.Floats([]int64{n.Size}, waves(int(n.Size)))), false, 0))
			}
			gradients, err := autodiff.Gradients(b, sum, of, autodiff.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var outputs []graph.Output
			var names []string
			for i, p := range network.Params(c) {
				names = append(names, fmt.Sprint("gradient ", p.Name))
				outputs = append(outputs, graph.Output{Name: names[i], Value: b.Mul(b.Reshape(gradients[i], graph.Known(p.Len())), b.Floats([]int64{p.Len()}, waves(int(p.Len()))))})
			}
			m, err := b.Model(outputs...)
			if err != nil {
				t.Fatal(err)
			}
			all := runAll(t, m, r, map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask}, map[string][]float32{"timesteps": r.times}, names...)
			for i, p := range network.Params(c) {
				total, size := 0.0, 0.0
				for _, x := range all[names[i]] {
					total, size = total+float64(x), size+math.Abs(float64(x))
				}
				if want := g.Gradients[p.Name]; !(math.Abs(total-want) <= 1e-4*max(size, 0.1)) {
					t.Errorf("%s: %g, want %g of a sum of absolute values %g", p.Name, total, want, size)
				}
			}
			if len(g.Gradients) < 20 {
				t.Errorf("only %d parameters have gradients", len(g.Gradients))
			}
		})
	}
}

// logarithms are those of rates, -1000 for no rate.
func logarithms(rates []float32) []float32 {
	out := make([]float32, len(rates))
	for i, r := range rates {
		if out[i] = -1000; r != 0 {
			out[i] = float32(math.Log(float64(r)))
		}
	}
	return out
}

// TestRatesStart: a new network says that one token is missing everywhere inside the row and nothing behind it, and all speeds are equal.
func TestRatesStart(t *testing.T) {
	c := growing(t, network.Config{UnmaskRate: true, Time: network.AdaLN})
	m, err := network.Export(c, network.Initialise(c, 3), network.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := rows{b: 2, l: 3}
	ids, mask := map[string][]int64{"input_ids": {3, 1, 2, 2, 27, 27}, "attention_mask": {1, 1, 1, 1, 0, 0}}, map[string][]float32{"timesteps": {0, 1}}
	got := runAll(t, m, r, ids, mask, "insertion_rate", "unmask_rate")
	if d := cmp.Diff([]float32{1, 1, 1, 0, 1, 0, 0, 0}, got["insertion_rate"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float32{1, 1, 1, 1, 1, 1}, got["unmask_rate"]); d != "" {
		t.Error(d)
	}
	c.Gaps, c.UnmaskRate, c.Head = network.NoGaps, false, network.HeadOrder
	if m, err = network.Export(c, network.Initialise(c, 3), network.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := runAll(t, m, r, ids, mask, "order")["order"]; len(got) != 12 || slices.ContainsFunc(got, func(x float32) bool { return x != 0 }) {
		t.Error(got)
	}
}

// TestRatesAreBounded: scores beyond all measure give rates that a loss can be made of.
func TestRatesAreBounded(t *testing.T) {
	c := growing(t, network.Config{UnmaskRate: true})
	values := formula(c)
	values["insertion.down.bias"], values["unmask.down.bias"] = []float32{3e38}, []float32{-3e38}
	m, err := network.Export(c, values, network.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := runAll(t, m, rows{b: 1, l: 2}, map[string][]int64{"input_ids": {3, 1}, "attention_mask": {1, 1}}, nil, "insertion_rate", "unmask_rate")
	for i, r := range append(got["insertion_rate"][:2], got["unmask_rate"]...) {
		if want := []float64{16, 16, -16, -16}[i]; math.Abs(math.Log(float64(r))-want) > 1e-4 {
			t.Errorf("rate %g, want e^%g", r, want)
		}
	}
}

// TestInsertionDir writes an insertion model and reads it back.
func TestInsertionDir(t *testing.T) {
	c := growing(t, network.Config{Time: network.AdaLN})
	dir := filepath.Join(t.TempDir(), "grows")
	d := network.ModelDir{Config: c, Values: formula(c), Tokenizer: letters(t)}
	if err := network.WriteModelDir(dir, d); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Insertion() || m.Manifest.Gap != "eos" || *m.Manifest.Time.NoiseAt != 0 || m.Manifest.Schedule != (model.Schedule{Kind: "kumaraswamy", A: 1}) || m.UnmaskRate {
		t.Errorf("%+v", m.Manifest)
	}
	again, values, err := network.From(m)
	if diff := cmp.Diff(c, again) + cmp.Diff(d.Values, values); diff != "" || err != nil {
		t.Error(diff, err)
	}
	d.Manifest = &model.Manifest{Family: "masked"}
	if err := network.WriteModelDir(dir, d); err == nil || !strings.Contains(err.Error(), `mdm.json: family is "masked" and gap "eos", and gaps in config.json is "eos"; expected one of both`) {
		t.Error(err)
	}
}

func TestGapRefusals(t *testing.T) {
	for want, c := range map[string]network.Config{
		`gaps: is "n+1", expected eos, or none for a masked model`:                                                          {Gaps: "n+1"},
		`gaps: is "eos", and head keep rates none; leave it out`:                                                            {Gaps: "eos", Head: network.HeadKeep},
		`positions: is "sudoku", and the tokens of rows that grow have no cells of their own; choose rope, learned or none`: {Gaps: "eos", Positions: network.Sudoku},
		`unmask_rate: is true, and only insertion models rate unmasking; set gaps to eos, or leave it out`:                  {UnmaskRate: true},
		`tie_word_embeddings: is true, and head order gives no logits of tokens; set it to false`:                           {Head: network.HeadOrder, Tied: true},
	} {
		c.VocabSize, c.HiddenSize, c.Layers, c.Heads = 29, 32, 2, 4
		if c.Positions == "" {
			c.MaxPositions = 24
		}
		if err := c.Filled().Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
