package network_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// alone is one case of testdata/alone.py.
type alone struct {
	Name          string
	Config        network.Config
	Rows, Without [][]int64
	Times         []float32
	Alone         map[string][][]float64 // by the w of guidance
}

func readAlone(t *testing.T) (out []alone) {
	t.Helper()
	goldenfile.Read(t, "testdata/alone.json.gz", &out)
	return out
}

// The runtime asks all positions at once, in a batch of rows of several lengths, what PyTorch was asked one by one: the
// log-probability of a token whose position cannot see itself. It does so up to the longest row that the network has positions for,
// with guidance and without, for every head.
func TestLeaveOneOutIsPyTorchs(t *testing.T) {
	const mask = 10
	for _, c := range readAlone(t) {
		c.Config = valid(t, c.Config)
		m, err := network.Export(c.Config, formula(c.Config), network.ExportOptions{Bias: true})
		if err != nil {
			t.Fatal(err)
		}
		data := m.Encode()
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			for w, want := range c.Alone {
				t.Run(fmt.Sprintf("%s/%s/w=%s", c.Name, mode, w), func(t *testing.T) {
					scale, err := strconv.ParseFloat(w, 32)
					if err != nil {
						t.Fatal(err)
					}
					d, err := onnx.Open(t.Context(), onnx.Model{Name: c.Name, Data: data, MaskID: mask, V: c.Config.VocabSize}, onnx.Options{Head: mode, Threads: 1})
					if err != nil {
						t.Fatal(err)
					}
					defer func() {
						if err := d.Close(); err != nil {
							t.Error(err)
						}
					}()
					head := sampling.Head{Needs: sampling.Needs{P1: true, LogpLeaveOneOut: true}, Suppress: []int32{mask}, Guidance: float32(scale)}
					if err := d.Configure(t.Context(), head); err != nil {
						t.Fatal(err)
					}
					for range 2 { // the second time with the same attention
						got := c.run(t, d)
						for i, row := range want {
							for j, x := range row {
								if math.Abs(float64(got[i][j])-x) > 1e-5*max(1, math.Abs(x)) {
									t.Errorf("row %d, position %d: %g, PyTorch gives %g", i, j, got[i][j], x)
								}
							}
						}
					}
				})
			}
		}
	}
}

// run gives the rows to a denoiser in one batch and returns their leave-one-out statistic.
func (c *alone) run(t *testing.T, d *onnx.Denoiser) (out [][]float32) {
	t.Helper()
	l := len(c.Rows[0])
	b, err := d.Batch(len(c.Rows), l)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range c.Rows {
		b.Params[i].TopP = 1
		if b.Time != nil {
			b.Time[i] = c.Times[i]
		}
		for j := range l {
			at := i*l + j
			b.Tokens[at], b.Attention[at], b.Active[at] = 0, 0, 0
			if j < len(row) {
				b.Tokens[at], b.Attention[at], b.Active[at] = row[j], 1, 1
			}
			if b.Unconditional != nil && j < len(row) {
				b.Unconditional[at] = c.Without[i][j]
			}
		}
	}
	st, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range c.Rows {
		out = append(out, st.LogpLeaveOneOut[i*l:i*l+len(row)])
	}
	return out
}

// The project's own models, written anew with the inputs of leave-one-out probabilities, give the logits of
// their files.
func TestExportWithBiasIsTheSameModel(t *testing.T) {
	for _, name := range []string{"text", "sudoku"} {
		m, err := model.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		c, values, err := network.Exported(m)
		if err != nil {
			t.Fatal(err)
		}
		biased, err := network.Export(c, values, network.ExportOptions{Opset: m.Graph.Opset(""), Bias: true})
		if err != nil {
			t.Fatal(err)
		}
		const b = 2
		rng, l := rand.New(rand.NewPCG(2, 2)), c.MaxPositions
		ids := make([]int64, b*l)
		for i := range ids {
			if ids[i] = int64(m.MaskID); rng.IntN(2) == 0 {
				ids[i] = int64(rng.IntN(c.VocabSize))
			}
		}
		run := func(data []byte) []float32 {
			d, err := onnx.Open(t.Context(), onnx.Model{Name: name, Data: data, V: m.V}, onnx.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Logits: true}}); err != nil {
				t.Fatal(err)
			}
			batch, err := d.Batch(b, l)
			if err != nil {
				t.Fatal(err)
			}
			copy(batch.Tokens, ids)
			for i := range ids {
				batch.Attention[i] = 1
				if i >= l+l/2 { // the second row is half as long
					batch.Attention[i] = 0
				}
			}
			st, err := d.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return slices.Clone(st.Logits[:(l+l/2)*m.V])
		}
		near(t, name, run(m.ONNX), run(biased.Encode()), 2e-5)
	}
}

func TestExportedRefusesFilesOfOthers(t *testing.T) {
	m, err := model.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Graph.Graph.Initializers {
		if p.Name == "norm.weight" {
			p.Name = "norm.scale"
		}
	}
	_, _, err = network.Exported(m)
	mustSay(t, err, `sudoku/onnx/model.onnx: the file was not written by this program: tensor "norm.weight" is missing`)
	if m, err = model.Open("rxnmapper-albert"); err != nil {
		t.Fatal(err)
	}
	_, _, err = network.Exported(m)
	mustSay(t, err, `model_type is "albert", expected "mdm-transformer"`)
}
