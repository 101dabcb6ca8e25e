package exporters_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// A network that was recovered from somebody's file gives the logits of the file: real tokens, masks and padding.
func TestRecover(t *testing.T) {
	const rows, length = 2, 24
	ids, mask := make([]int64, rows*length), make([]int64, rows*length)
	for i := range ids {
		ids[i], mask[i] = int64(15+i*37%500), 1
		if i%5 == 2 {
			ids[i] = 14
		}
		if i >= rows*length-7 {
			ids[i], mask[i] = 0, 0
		}
	}
	for _, ref := range []string{"rxnmapper-albert", "molecule", "../../shared/models/rxnfp-bert"} {
		t.Run(filepath.Base(ref), func(t *testing.T) {
			s := open(t, ref)
			if s.Why != nil {
				t.Fatal(s.Why)
			}
			own, err := network.Export(*s.Config, s.Values, network.ExportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want, got := logits(t, s.Graph, s.ONNXDir(), ids, mask, rows), logits(t, own, "", ids, mask, rows)
			worst := 0.0
			for i := range want {
				if mask[i/s.Config.VocabSize] == 1 {
					worst = max(worst, math.Abs(float64(want[i]-got[i])))
				}
			}
			t.Logf("largest difference of a logit: %g", worst)
			if !(worst <= 1e-4) {
				t.Errorf("logits differ by %g, expected at most 1e-4", worst)
			}
		})
	}
}

// logits runs a model's graph once.
func logits(t *testing.T, m *graph.Model, dir string, ids, mask []int64, rows int) []float32 {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	dims := map[string]int64{}
	for _, v := range m.Graph.Inputs {
		for i, d := range v.Shape {
			if d.Name != "" {
				dims[d.Name] = int64([]int{rows, len(ids) / rows}[i])
			}
		}
	}
	p, err := d.NewProgram(t.Context(), onnx.Model{Name: "test", Data: m.Encode(), Dir: dir}, onnx.ProgramOptions{Outputs: []string{"logits"}, Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]int64{"input_ids": ids, "attention_mask": mask} {
		to, err := feed.Int64(name)
		if err != nil || copy(to, v) != len(v) {
			t.Fatal(name, err)
		}
	}
	if err := p.Run(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	out, err := p.Output("logits")
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32{}, out...)
}
