package autodiff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// Networks that others trained learn as Hugging Face's own classes do in PyTorch, layers that share parameters included.
func TestPretrained(t *testing.T) {
	var cases []batch
	goldenfile.Read(t, "../network/family/testdata/gradients.json.gz", &cases)
	if len(cases) < 8 {
		t.Fatalf("%d models, want 8", len(cases))
	}
	for _, g := range cases {
		c, parameters, gradients := translated(t, g)
		g.Gradients = gradients
		for _, r := range []struct {
			form  string
			opset int64
			known bool
		}{{"plain", 17, false}, {"recompute", 23, true}, {"all", 20, false}} {
			rows, length := graph.Named("B"), graph.Named("L")
			if r.known {
				rows, length = graph.Known(g.Rows), graph.Known(g.Length)
			}
			t.Run(fmt.Sprintf("%s/%s/%d", g.Name, r.form, r.opset), func(t *testing.T) {
				b := newTraining(g, r.opset, rows, length, 8, func(b *training, ids, mask graph.Value) graph.Value {
					for _, p := range parameters {
						b.param(p)
					}
					return network.Build(b.Builder, c, b.params, map[string]graph.Value{"input_ids": ids, "attention_mask": mask})["logits"]
				})
				if e := b.compare(t, g, forms[r.form]); !(e <= 3e-5) {
					t.Errorf("worst relative error %.1e, want 3e-5", e)
				}
			})
		}
	}
}

// translated is a model as a network of ours: its config, its parameters, and what is known of their gradients, which the golden file has
// under the names of its publisher. Where an element of a tensor goes is found with a checkpoint whose elements are numbered.
func translated(t *testing.T, g batch) (network.Config, []*graph.Tensor, map[string]sampled) {
	t.Helper()
	dir := filepath.Join("../network/family/testdata", g.Name)
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type entry struct {
		value, greatest float64
	}
	known := map[int]entry{}
	var numbered []safetensors.Tensor
	for _, tensor := range f.Tensors() {
		first := 0
		for _, n := range numbered {
			first += int(n.Len())
		}
		s, ok := g.Gradients[tensor.Name]
		if !ok {
			t.Fatalf("%s: no gradient of %s", g.Name, tensor.Name)
		}
		for i, at := range s.At {
			known[first+at] = entry{s.Values[i], s.Max}
		}
		numbers := make([]float32, tensor.Len()) // exact below 2^24
		for i := range numbers {
			numbers[i] = float32(first + i)
		}
		numbered = append(numbered, safetensors.Of(tensor.Name, tensor.Shape, numbers))
	}
	assemble := func(tensors []safetensors.Tensor) (network.Config, []safetensors.Tensor) {
		recipe, err := family.Parse(dir, text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := recipe.Assemble(tensors)
		if err != nil {
			t.Fatal(err)
		}
		return recipe.Config, out
	}
	c, tensors := assemble(f.Tensors())
	_, numbers := assemble(numbered)
	var parameters []*graph.Tensor
	gradients := map[string]sampled{}
	for i, p := range tensors {
		values, err := p.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		parameters = append(parameters, graph.OfFloats(p.Name, p.Shape, values))
		from, err := numbers[i].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		var s sampled
		for at, n := range from {
			if e, ok := known[int(n)]; ok {
				s.At, s.Values, s.Max = append(s.At, at), append(s.Values, e.value), e.greatest
			}
		}
		gradients[p.Name] = s
	}
	return c, parameters, gradients
}
