package gguf

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/network"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, ref string) *exporters.Source {
	t.Helper()
	s, err := exporters.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the architectures do not express is named, with the target that does.
func TestRefusals(t *testing.T) {
	ours := network.Config{Norm: network.NormRMS, Activation: network.SwiGLU, Positions: network.RoPE, HiddenSize: 8, Heads: 2, Layers: 2}
	for what, change := range map[string]func(c *network.Config){
		"its norms are layer norms, not rms":                     func(c *network.Config) { c.Norm = network.NormLayer },
		"its activation is gelu, not swiglu":                     func(c *network.Config) { c.Activation = network.GELU },
		"its positions are sudoku, not rope":                     func(c *network.Config) { c.Positions = network.Sudoku },
		"it takes the time":                                      func(c *network.Config) { c.Time = network.AdaLN },
		"its linear layers have biases":                          func(c *network.Config) { c.Bias = true },
		"its layers share parameters":                            func(c *network.Config) { c.Groups = 1 },
		"some of its layers see a window":                        func(c *network.Config) { c.LocalAttention, c.GlobalEvery = 4, 2 },
		"its head has a layer or a bias of its own":              func(c *network.Config) { c.HeadTransform = true },
		"its norms stand behind the sums":                        func(c *network.Config) { c.PostNorm = true },
		"its embeddings are normalised, projected or have types": func(c *network.Config) { c.TypeVocab = 2 },
		"it is a planner network":                                func(c *network.Config) { c.Head = network.HeadKeep },
	} {
		s, c := open(t, "text"), ours
		change(&c)
		s.Config = &c
		err := New().Check(s, exporters.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "model text: "+what) || !strings.HasSuffix(err.Error(), "do not express; export it with --to onnx or --to pytorch") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := open(t, "text")
	s.Config = &ours
	if err := New().Check(s, exporters.Options{}); err == nil || !strings.Contains(err.Error(), "tokenizer.json: has the model WordLevel") || !strings.HasSuffix(err.Error(), "--to pytorch") {
		t.Errorf("the tokenizer of text: %v", err)
	}
	if err := New().Check(open(t, "molecule-insertion"), exporters.Options{}); err == nil || !strings.HasPrefix(err.Error(), "model molecule-insertion: its rows grow") {
		t.Errorf("an insertion model: %v", err)
	}
}

// The names that llama.cpp has for expressions are found by the expressions.
func TestPreTokenizers(t *testing.T) {
	no := false
	bytewise := splitter{Type: "ByteLevel", UseRegex: &no}
	split := func(regex string) *splitter {
		s := splitter{Type: "Split", Behavior: "Isolated"}
		s.Pattern.Regex = regex
		return &splitter{Type: "Sequence", Pretokenizers: []splitter{s, bytewise}}
	}
	want := map[string]*splitter{"gpt-2": {Type: "ByteLevel"}}
	for regex, name := range expressions {
		want[name] = split(regex)
	}
	for name, p := range want {
		if got, err := (&bpe{PreTokenizer: p}).pre(); got != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, p := range []*splitter{nil, &bytewise, split(`\d`), {Type: "Whitespace"}, {Type: "ByteLevel", Prefix: true}} {
		if got, err := (&bpe{PreTokenizer: p}).pre(); err == nil || !strings.HasPrefix(err.Error(), "tokenizer.json: ") {
			t.Errorf("%+v: %q, %v", p, got, err)
		}
	}
}
