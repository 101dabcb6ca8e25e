package network_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// pretrained is one case of family/testdata/golden.py.
type pretrained struct {
	name    string
	config  network.Config
	tensors []safetensors.Tensor // of the parameters
	rows    rows
	logits  []float32
}

func (p pretrained) values(t testing.TB) network.Values {
	t.Helper()
	out := network.Values{}
	for _, one := range p.tensors {
		v, err := one.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		out[one.Name] = v
	}
	return out
}

func readPretrained(t testing.TB) (out []pretrained) {
	t.Helper()
	configs, err := filepath.Glob("family/testdata/*/config.json")
	if err != nil || len(configs) < 8 {
		t.Fatalf("%d models (%v), expected 8", len(configs), err)
	}
	for _, path := range configs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		recipe, err := family.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		tensors, err := recipe.Assemble(opened(t, filepath.Join(dir, "model.safetensors")))
		if err != nil {
			t.Fatal(err)
		}
		p := pretrained{name: filepath.Base(dir), config: recipe.Config, tensors: tensors}
		for _, e := range opened(t, filepath.Join(dir, "expected.safetensors")) {
			switch e.Name {
			case "input_ids":
				p.rows.b, p.rows.l = int(e.Shape[0]), int(e.Shape[1])
				p.rows.ids, err = safetensors.View[int64](e)
			case "attention_mask":
				p.rows.mask, err = safetensors.View[int64](e)
			case "logits":
				p.logits, err = e.Float32s()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, p)
	}
	return out
}

// opened are the tensors of a file until the test ends.
func opened(t testing.TB, path string) []safetensors.Tensor {
	t.Helper()
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.Tensors()
}

// real keeps what stands at positions that are no padding.
func (p pretrained) real(logits []float32) (out []float32) {
	v := p.config.VocabSize
	for i, m := range p.rows.mask {
		if m == 1 {
			out = append(out, logits[i*v:(i+1)*v]...)
		}
	}
	return out
}

// Networks that others trained give the logits of Hugging Face's own classes, whatever the opset, with sizes known and not.
func TestLogitsAreHuggingFaces(t *testing.T) {
	for _, p := range readPretrained(t) {
		t.Run(p.name, func(t *testing.T) {
			want, values := p.real(p.logits), p.values(t)
			for what, change := range map[string]func(*rows){
				"":                    func(*rows) {},
				"opset 17":            func(r *rows) { r.opset = 17 },
				"B and L known":       func(r *rows) { r.fixedB, r.fixedL, r.opset = true, true, 23 },
				"L known":             func(r *rows) { r.fixedL = true },
				"parameters as input": func(r *rows) { r.parametersInput = true },
				"with positions":      func(r *rows) { r.at = counted(r.b, r.l) },
			} {
				r := p.rows
				change(&r)
				near(t, what, want, p.real(logits(t, p.config, values, r)), 3e-5)
			}
		})
	}
}

// counted are the positions 0, 1, ... of every row.
func counted(b, l int) (out []int64) {
	for range b {
		for i := range l {
			out = append(out, int64(i))
		}
	}
	return out
}

// What a position is told does not depend on padding, nor on where its row stands: tokens that trade places together with their positions trade
// their logits, unless these are for the next position.
func TestPretrainedPlaces(t *testing.T) {
	for _, p := range readPretrained(t) {
		t.Run(p.name, func(t *testing.T) {
			values, v := p.values(t), p.config.VocabSize
			r := p.rows
			r.at = counted(r.b, r.l)
			want := logits(t, p.config, values, r)
			order := make([]int, r.l) // position i of the turned row holds position order[i]
			for i := range order {
				order[i] = (i*7 + 3) % r.l
			}
			turned := rows{b: r.b, l: r.l}
			for row := range r.b {
				for _, i := range order {
					at := row*r.l + i
					turned.ids, turned.mask, turned.at = append(turned.ids, r.ids[at]), append(turned.mask, r.mask[at]), append(turned.at, r.at[at])
				}
			}
			got := logits(t, p.config, values, turned)
			back := make([]float32, len(got))
			for row := range r.b {
				for i, from := range order {
					copy(back[(row*r.l+from)*v:(row*r.l+from+1)*v], got[(row*r.l+i)*v:(row*r.l+i+1)*v])
				}
			}
			if p.config.LogitsShift {
				if worst := difference(p.real(want), p.real(back)); worst < 0.1 {
					t.Errorf("logits for the next position differ by %g where the next position is another", worst)
				}
				return
			}
			near(t, "turned", p.real(want), p.real(back), 3e-5)
			r.ids = slices.Clone(r.ids)
			for i, m := range r.mask {
				if m == 0 {
					r.ids[i] = 5
				}
			}
			near(t, "other padding", p.real(want), p.real(logits(t, p.config, values, r)), 1e-6)
		})
	}
}

func difference(a, b []float32) (worst float64) {
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}

// No two positions see each other that are farther apart than half of the window, and all others do.
func TestWindow(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 9, HiddenSize: 8, Layers: 2, Heads: 2, MaxPositions: 12, LocalAttention: 6, GlobalEvery: 2, NormEps: 1e-5})
	values := formula(c)
	for i := range values["layers.0.attention.output.weight"] {
		values["layers.0.attention.output.weight"][i] = 0 // layer 0 sees everything
	}
	base := rows{b: 1, l: 12, ids: []int64{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4}}
	want := logits(t, c, values, base)
	for changed := range base.ids {
		r := base
		r.ids = slices.Clone(base.ids)
		r.ids[changed] = 0
		got := logits(t, c, values, r)
		for i := range base.ids {
			differs := difference(got[i*9:(i+1)*9], want[i*9:(i+1)*9]) > 0
			if near := max(i-changed, changed-i) <= 3; differs != near {
				t.Errorf("position %d sees %d: %v, want %v", i, changed, differs, near)
			}
		}
	}
}

// A second copy of every row that sees what its original sees, and itself in its original's place, is given the same logits: what leave-one-out
// statistics rely on, windows included.
func TestPretrainedShadows(t *testing.T) {
	for _, p := range readPretrained(t) {
		if p.config.LogitsShift {
			continue // TestShiftHasNoShadows
		}
		t.Run(p.name, func(t *testing.T) {
			values, r, v := p.values(t), p.rows, p.config.VocabSize
			m, err := network.Export(p.config, values, network.ExportOptions{Bias: true})
			if err != nil {
				t.Fatal(err)
			}
			double := rows{b: r.b, l: 2 * r.l}
			var bias []float32
			for row := range r.b {
				from := row * r.l
				for range 2 {
					double.ids, double.mask = append(double.ids, r.ids[from:from+r.l]...), append(double.mask, r.mask[from:from+r.l]...)
					double.at = append(double.at, counted(1, r.l)...)
				}
				for i := range 2 * r.l {
					for j := range 2 * r.l {
						sees := j < r.l
						if i >= r.l {
							sees = j < r.l && j != i-r.l || j == i
						}
						bias = append(bias, map[bool]float32{true: 0, false: -3e4}[sees])
					}
				}
			}
			got := run(t, m, double, map[string][]int64{"input_ids": double.ids, "attention_mask": double.mask, "position_ids": double.at}, map[string][]float32{"attention_bias": bias})
			for half := range 2 {
				var own []float32
				for row := range r.b {
					from := (2*row + half) * r.l * v
					own = append(own, got[from:from+r.l*v]...)
				}
				near(t, fmt.Sprint("copy ", half), p.real(p.logits), p.real(own), 3e-5)
			}
		})
	}
}
