package gguf

import (
	"fmt"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Check implements [exporters.Target]: the layers of LLaDA and Dream, as llama.cpp computes them, and a tokenizer that it reads.
func (target) Check(s *exporters.Source, _ exporters.Options) error {
	if s.Config == nil {
		return s.Why
	}
	refuse := func(what string) error {
		return fmt.Errorf("model %s: %s, which llama.cpp's llada and dream do not express; export it with --to onnx or --to pytorch", s.Name, what)
	}
	c := s.Config
	for _, no := range []struct {
		is   bool
		what string
	}{
		{s.Insertion(), "its rows grow (family insertion)"},
		{c.Judges(), "it is a planner network"},
		{c.Timed(), "it takes the time"},
		{c.MaskedInput, "it takes which tokens stand for masks (masked_input)"},
		{c.Norm != network.NormRMS, "its norms are " + c.Norm + " norms, not rms"},
		{c.PostNorm || c.SkipFirstNorm, "its norms stand behind the sums, or the first is missing (post_norm, skip_first_norm)"},
		{c.Activation != network.SwiGLU, "its activation is " + c.Activation + ", not swiglu"},
		{c.Positions != network.RoPE, "its positions are " + c.Positions + ", not rope"},
		{c.Bias, "its linear layers have biases (bias)"},
		{c.EmbeddingNorm || c.EmbeddingWidth() != c.HiddenSize || c.TypeVocab > 0, "its embeddings are normalised, projected or have types"},
		{c.LayerSets() != c.Layers, "its layers share parameters (num_hidden_groups)"},
		{c.LocalAttention > 0, "some of its layers see a window (local_attention)"},
		{c.HeadTransform || c.HeadBias, "its head has a layer or a bias of its own (head_transform, head_bias)"},
		{s.Manifest.LogitsShift != 0, "its logits are shifted outside the network (mdm.json: logits_shift)"},
	} {
		if no.is {
			return refuse(no.what)
		}
	}
	text, err := s.ReadFile("tokenizer.json")
	if err != nil {
		return fmt.Errorf("model %s: %w", s.Name, err)
	}
	if _, err := vocabulary(s, text); err != nil {
		return fmt.Errorf("model %s: %w; export it with --to onnx or --to pytorch", s.Name, err)
	}
	return nil
}
