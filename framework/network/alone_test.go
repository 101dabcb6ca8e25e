package network_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

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
	f, err := os.Open("testdata/alone.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
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
