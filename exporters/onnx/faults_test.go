package onnx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/exporters/openvino"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// changed is a source whose graph was changed in memory.
func changed(t *testing.T, name string, change func(m *graph.Model)) *exporters.Source {
	t.Helper()
	s := open(t, name)
	m, g, inner := *s.Model, *s.Graph, *s.Graph.Graph
	m.Graph, g.Graph = &g, &inner
	g.Opsets = append([]graph.Opset{}, g.Opsets...)
	change(&g)
	return &exporters.Source{Model: &m, Digest: s.Digest}
}

// TestRefused: what an export cannot be is said with the reason and the alternative, and leaves nothing.
func TestRefused(t *testing.T) {
	sudoku := open(t, "sudoku")
	old := changed(t, "sudoku", func(m *graph.Model) { m.Opsets[0].Version = 16 })
	bare := changed(t, "sudoku", func(m *graph.Model) {
		m.Graph.Nodes = []*graph.Node{{Name: "look", Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"logits"}}}
		m.Graph.Initializers = []*graph.Tensor{graph.OfFloats("table", []int64{11, 11}, make([]float32, 121))}
	})
	branch := changed(t, "text", func(m *graph.Model) {
		m.Graph.Nodes = append(m.Graph.Nodes[:len(m.Graph.Nodes):len(m.Graph.Nodes)], &graph.Node{Name: "branch", Op: "If", Inputs: []string{"attention_mask"}, Outputs: []string{"no"},
			Attributes: []*graph.Attribute{{Name: "then_branch", Kind: graph.KindGraph, G: &graph.Graph{}}, {Name: "else_branch", Kind: graph.KindGraph, G: &graph.Graph{}}}})
	})
	foreign := changed(t, "text", func(m *graph.Model) {
		m.Opsets = append(m.Opsets, graph.Opset{Domain: "com.example", Version: 1})
		m.Graph.Nodes = append(m.Graph.Nodes[:len(m.Graph.Nodes):len(m.Graph.Nodes)], &graph.Node{Name: "own", Op: "Own", Domain: "com.example", Inputs: []string{"input_ids"}, Outputs: []string{"own"}})
	})
	headed := changed(t, "sudoku", func(*graph.Model) {})
	signature := *headed.Signature
	signature.Statistics = true
	headed.Signature = &signature
	both := []exporters.Target{onnx.New(), openvino.New()}
	for _, c := range []struct {
		source  *exporters.Source
		o       exporters.Options
		targets []exporters.Target
		want    string
	}{
		{sudoku, exporters.Options{Rows: -1}, both, "rows -1: expected at least 1"},
		{sudoku, exporters.Options{Length: -8}, both, "length -8: expected at least 1"},
		{sudoku, exporters.Options{Length: 82}, both, "length 82: model sudoku takes rows of at most 81 positions"},
		{sudoku, exporters.Options{Length: 64}, both, "rows of model sudoku have 81 positions (mdm.json: length)"},
		{sudoku, exporters.Options{Head: "logits"}, both, `head "logits": expected none or statistics`},
		{headed, exporters.Options{}, both, "model sudoku: carries the statistics head of an export"},
		{open(t, "stars"), exporters.Options{Length: 1}, both, "length 1: rows of model stars have 1 special tokens; expected at least 2"},
		{old, exporters.Options{Head: exporters.HeadStatistics}, both, "head statistics needs opset 17 or newer, its graph has 16"},
		{bare, exporters.Options{Precision: exporters.INT8}, both, "nothing to quantise"},
		{branch, exporters.Options{Length: 16}, both, "export without --rows and --length"},
		{foreign, exporters.Options{}, both[1:], "calls com.example.Own, which are none of ONNX's operators, and OpenVINO does not have them; export with --to onnx"},
		{sudoku, exporters.Options{Precision: exporters.FP16}, both[1:], "precision fp16: target openvino takes fp32, fp16-weights, int8"},
	} {
		for _, target := range c.targets {
			out := filepath.Join(t.TempDir(), "out")
			if _, err := exporters.Export(t.Context(), target, c.source, c.o, out); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s, %+v: error %v, expected one with %q", target.Info().Name, c.source.Name, c.o, err, c.want)
			}
			if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
				t.Errorf("%+v: %d files are left (%v)", c.o, len(left), err)
			}
		}
	}
}

// divided is the target with weights in a file of their own, as models beyond 2 GiB have them.
type divided struct{ exporters.Target }

func (divided) Files(ctx context.Context, s *exporters.Source, o exporters.Options) (wholefile.Files, error) {
	m, err := onnx.Graph(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return onnx.Files(ctx, s, m, []byte("raise ImportError"), 1<<14)
}

// TestExternalData: a model whose weights lie in a safetensors file, in bfloat16, is exported in every precision, also with its weights in a file
// beside the graph; norms and rotations that only ONNX Runtime has are written with ONNX's operators.
func TestExternalData(t *testing.T) {
	text := open(t, "text")
	tokenizer, err := text.ReadFile("tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := network.ParseConfig("config.json", []byte(`{"model_type":"mdm-transformer","vocab_size":89,"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
		"intermediate_size":128,"max_position_embeddings":64,"norm":"rms","activation":"swiglu","positions":"rope"}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "linked")
	if err := network.WriteModelDir(dir, network.ModelDir{Config: c, Values: network.Initialise(c, 8), Tokenizer: tokenizer, Linked: true, DType: safetensors.BF16}); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if len(s.Graph.External()) != 1 {
		t.Fatalf("external data %q, expected one file", s.Graph.External())
	}
	for _, precision := range onnx.New().Info().Precisions {
		for _, target := range []exporters.Target{onnx.New(), divided{onnx.New()}} {
			out := filepath.Join(t.TempDir(), "out")
			r, err := exporters.Export(t.Context(), target, s, exporters.Options{Precision: precision, Head: exporters.HeadStatistics}, out)
			if err != nil {
				t.Fatalf("%s: %v", precision, err)
			}
			t.Log(precision, r.Verified.Verdict)
			m, err := model.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Verify(); err != nil {
				t.Error(err)
			}
			if foreign := graph.Foreign(m.Graph); len(foreign) > 0 {
				t.Errorf("%s: the graph calls %q, which it does not define", precision, foreign)
			}
		}
	}
}

// TestStopped: an interrupt ends the making of a graph.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := open(t, "stars")
	cancel()
	if _, err := onnx.Graph(ctx, s, exporters.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected %v", err, context.Canceled)
	}
}
