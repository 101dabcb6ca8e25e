package foreign_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// moved are other values: as if something had been learned.
func moved(n *foreign.Network) [][]float32 {
	rng := rand.New(rand.NewPCG(4, 2))
	values := n.Values()
	for _, v := range values {
		for i := range v {
			v[i] += float32(rng.NormFloat64() * 0.05)
		}
	}
	return values
}

// again encodes and decodes a model.
func again(t testing.TB, m *graph.Model) *graph.Model {
	t.Helper()
	out, err := graph.Decode(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What was learned goes back into the file: the runtime opens it, it computes what the training graph computes, its ports are those of
// the original, and it reads as the same network.
func TestExportRoundTrip(t *testing.T) {
	g, in := readGolden(t)
	for name := range g.Models {
		t.Run(name, func(t *testing.T) {
			file := read(t, "testdata/"+name+".onnx")
			before := file.Encode()
			n, report := network(t, file, foreign.Options{Name: name})
			roundTrip(t, file, n, report, in)
			if !slices.Equal(before, file.Encode()) {
				t.Error("the original was changed")
			}
		})
	}
}

func roundTrip(t *testing.T, file *graph.Model, n *foreign.Network, report *foreign.Report, in batch) {
	t.Helper()
	first, err := n.Export(n.Values())
	if err != nil {
		t.Fatal(err)
	}
	if w := worst(t, logits(t, file, in), logits(t, again(t, first), in)); w != 0 {
		t.Errorf("with the file's own values the logits differ by %g", w)
	}
	values := moved(n)
	m, err := n.Export(values)
	if err != nil {
		t.Fatal(err)
	}
	m = again(t, m)
	if w := worst(t, logits(t, built(t, n, values), in), logits(t, m, in)); !(w < 1e-5) {
		t.Errorf("the exported model's logits differ by %g from those of the training graph", w)
	}
	ports := func(m *graph.Model) []any {
		return []any{m.Graph.Feeds(), m.Graph.Outputs, m.Opsets, m.Metadata, m.IRVersion, m.Producer}
	}
	if d := cmp.Diff(ports(file), ports(m)); d != "" {
		t.Error(d)
	}
	back, second := network(t, m, foreign.Options{})
	if d := cmp.Diff(n.Parameters(), back.Parameters()); d != "" {
		t.Error(d)
	}
	for i, v := range back.Values() {
		if !slices.Equal(values[i], v) {
			t.Errorf("%s is not what was exported", n.Parameters()[i].Name)
		}
	}
	if d := cmp.Diff(report.Tied, second.Tied); d != "" || len(second.Unshared) != 0 {
		t.Error(d, second.Unshared)
	}
}

func TestExportFaults(t *testing.T) {
	n, _ := network(t, read(t, "testdata/legacy17.onnx"), foreign.Options{})
	values := n.Values()
	_, err := n.Export(values[1:])
	wantError(t, err, "expected 42")
	values[3] = values[3][1:]
	_, err = n.Export(values)
	wantError(t, err, "expected")
}

// Real models, and how many parameters they have: BERT's decoder is its embedding, ALBERT's layers are one.
func TestRealModels(t *testing.T) {
	for name, want := range map[string]struct {
		parameters int
		elements   int64
		shared     int
	}{
		"rxnfp-bert":       {202, 6_675_535, 1},
		"rxnmapper-albert": {28, 735_567, 17},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("../../../../shared/models", name, "onnx", "model.onnx")
			file := read(t, path)
			n, report := network(t, file, foreign.Options{Name: name, Positions: 512})
			if report.Parameters != want.parameters || report.Elements != want.elements || len(report.Shared) != want.shared || len(report.Tied) != 1 || len(report.Unshared) != 0 {
				t.Errorf("%+v\n%s", report, report)
			}
			renamed := foreign.Renamed{Tensor: "onnx::MatMul_1376", Parameter: "m.bert.encoder.layer.0.attention.self.value.weight"}
			if name == "rxnmapper-albert" {
				renamed = foreign.Renamed{Tensor: "onnx::MatMul_1360", Parameter: "m.predictions.dense.weight"}
			}
			if !slices.Contains(report.Renamed, renamed) {
				t.Error(report.Renamed)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			in := batch{rows: 2, length: 17}
			for i := range 34 {
				in.ids = append(in.ids, int64(rng.IntN(591)))
				in.mask = append(in.mask, 1)
				if i > 28 {
					in.mask[i] = 0
				}
			}
			if w := worst(t, logits(t, file, in), logits(t, built(t, n, n.Values()), in)); !(w < 1e-5) {
				t.Errorf("the logits differ by %g", w)
			}
			roundTrip(t, file, n, report, in)
		})
	}
}
