package autodiff_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Models that others exported: gradients by every weight are PyTorch's.
func TestForeignModels(t *testing.T) {
	var cases []batch
	goldenfile.Read(t, "testdata/foreign.json.gz", &cases)
	for _, g := range cases {
		file, err := os.ReadFile(filepath.Join("../../../shared/models", g.Name, "onnx/model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := graph.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range []struct {
			name         string
			o            autodiff.Options
			rows, length graph.Dim
		}{{"plain, named sizes", autodiff.Options{}, graph.Named("B"), graph.Named("L")},
			{"all, known sizes", autodiff.Options{Kernels: true, Recompute: true, Fused: true}, graph.Known(g.Rows), graph.Known(g.Length)}} {
			t.Run(g.Name+"/"+run.name, func(t *testing.T) {
				b := newTraining(g, 17, run.rows, run.length, 9, func(b *training, ids, mask graph.Value) graph.Value {
					bind := map[string]graph.Value{"input_ids": ids, "attention_mask": mask}
					for _, w := range m.Graph.Initializers {
						bind[w.Name] = b.param(w)
					}
					return b.Replay(m, bind, nil)["logits"]
				})
				before := len(b.Nodes())
				t.Logf("worst relative error %.1e", b.compare(t, g, run.o))
				t.Logf("%d nodes forward, %d with gradients", before, len(b.Nodes()))
			})
		}
	}
}

// The same small BERT from both exporters of PyTorch, with and without sizes, from opset 17 to 23.
func TestExports(t *testing.T) {
	var cases []batch
	goldenfile.Read(t, "testdata/export.json.gz", &cases)
	for _, g := range cases {
		file, err := os.ReadFile(filepath.Join("testdata/export", g.Name+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := graph.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, length := graph.Known(g.Rows), graph.Known(g.Length)
		if strings.HasSuffix(g.Name, "dynamic") {
			rows, length = graph.Named("B"), graph.Named("L")
		}
		for form, o := range forms {
			t.Run(g.Name+"/"+form, func(t *testing.T) {
				b := newTraining(g, m.Opset(""), rows, length, 5, func(b *training, ids, mask graph.Value) graph.Value {
					bind := map[string]graph.Value{"input_ids": ids, "attention_mask": mask}
					for _, w := range m.Graph.Initializers {
						if _, trained := g.Gradients[w.Name]; trained {
							bind[w.Name] = b.param(w)
						}
					}
					return b.Replay(m, bind, nil)["logits"]
				})
				if err := b.Err(); err != nil {
					t.Fatal(err)
				}
				if e := b.compare(t, g, o); !(e <= 1e-5) {
					t.Errorf("worst relative error %.1e, want 1e-5", e)
				}
			})
		}
	}
}
