package network

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// Special are the ids of special tokens; -1 where there is none.
type Special struct{ Mask, Pad, BOS, EOS int32 }

// SpecialOf finds the special tokens of a tokenizer by their usual spellings.
func SpecialOf(t tokenizer.Tokenizer) Special {
	find := func(spellings ...string) int32 {
		for _, s := range spellings {
			if id, ok := t.ID(s); ok {
				return id
			}
		}
		return -1
	}
	s := Special{Mask: -1, Pad: find(tokenizer.Pad, "<pad>", "<|pad|>"), BOS: find(tokenizer.Begin, "<s>", "[CLS]"), EOS: find(tokenizer.End, "</s>", "[SEP]")}
	if id, ok := t.Mask(); ok {
		s.Mask = id
	}
	return s
}

// configFile is config.json.
type configFile struct {
	Architectures []string `json:"architectures"`
	Config
	DType string `json:"dtype"` // of model.safetensors
	Mask  *int32 `json:"mask_token_id"`
	Pad   *int32 `json:"pad_token_id,omitempty"`
	BOS   *int32 `json:"bos_token_id,omitempty"`
	EOS   *int32 `json:"eos_token_id,omitempty"`
}

var dtypeNames = map[safetensors.DType]string{safetensors.F32: "float32", safetensors.F16: "float16", safetensors.BF16: "bfloat16"}

// tensors are the parameters as model.safetensors holds them.
func (v Values) tensors(c Config, d safetensors.DType) ([]safetensors.Tensor, error) {
	if dtypeNames[d] == "" {
		return nil, fmt.Errorf("%s: elements %s, expected F32, F16 or BF16", parametersName, d)
	}
	var out []safetensors.Tensor
	for _, p := range Params(c) {
		t, err := safetensors.Of(p.Name, p.Shape, v[p.Name]).To(d)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// config is config.json.
func (m ModelDir) config() (any, error) {
	t, err := tokenizer.Parse(tokenizerName, m.Tokenizer)
	if err != nil {
		return nil, err
	}
	s := m.Special
	if s == nil {
		found := SpecialOf(t)
		s = &found
	}
	if s.Mask < 0 {
		return nil, fmt.Errorf("%s: has no one mask token such as [MASK]; give Special.Mask", tokenizerName)
	}
	return m.Config.file(*s, m.DType), nil
}

// JSON is config.json of a network whose model.safetensors has elements d: F32, F16 or BF16.
func (c Config) JSON(s Special, d safetensors.DType) ([]byte, error) { return indented(c.file(s, d)) }

// file is config.json. Tables that a grid makes are left out.
func (c Config) file(s Special, d safetensors.DType) configFile {
	if c.Grid != nil {
		c.PositionTables = nil
	}
	id := func(id int32) *int32 {
		if id < 0 {
			return nil
		}
		return &id
	}
	architecture := "MdmTransformerForMaskedLM"
	switch {
	case c.Judges():
		architecture = "MdmTransformerForPlanning"
	case c.Rates():
		architecture = "MdmTransformerForInsertion"
	}
	return configFile{[]string{architecture}, c, dtypeNames[d], id(s.Mask), id(s.Pad), id(s.BOS), id(s.EOS)}
}

// manifest is mdm.json.
func (m ModelDir) manifest(digests map[string]string) (any, error) {
	return m.Config.Manifest(m.Manifest, digests)
}

// Manifest is mdm.json of a network's model directory: what is given, with the defaults for what it leaves out, and what the network decides by
// itself; nil stands for a masked model with the linear schedule, or an insertion model with FlexMDM's. The error is of one of another kind than the network.
func (c Config) Manifest(given *model.Manifest, digests map[string]string) (*model.Manifest, error) {
	out, err := model.ParseManifest(manifestName, nil)
	if err != nil {
		return nil, err
	}
	if c.Rates() {
		empty := 0
		out.Family, out.Gap, out.Schedule, out.Time.NoiseAt = "insertion", c.Gaps, model.Schedule{Kind: "kumaraswamy", A: 1}, &empty
	}
	if given != nil {
		copied := *given
		fill(&copied.Family, out.Family)
		fill(&copied.Gap, out.Gap)
		if copied.Schedule.Kind == "" {
			copied.Schedule = out.Schedule
		}
		fill(&copied.Length.Policy, out.Length.Policy)
		if copied.Time.NoiseAt == nil {
			copied.Time.NoiseAt = out.Time.NoiseAt
		}
		if copied.Family == "insertion" != c.Rates() || c.Rates() && copied.Gap != c.Gaps {
			return nil, fmt.Errorf("%s: family is %q and gap %q, and gaps in %s is %q; expected one of both", manifestName, copied.Family, copied.Gap, configName, c.Gaps)
		}
		out = &copied
	}
	if out.Time.Input = "none"; c.Timed() {
		out.Time.Input = "t"
	}
	out.Digests = digests
	return out, nil
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
