package model

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Description is what `mdmhost model show` prints.
type Description struct {
	Name        string             `json:"name"`
	Dir         string             `json:"dir,omitempty"` // "" for embedded models
	Embedded    bool               `json:"embedded"`
	Type        string             `json:"model_type"`
	Family      string             `json:"family"`
	Planner     *Planner           `json:"planner,omitempty"` // of planner networks
	Time        string             `json:"time_input"`
	Schedule    Schedule           `json:"schedule"`
	Growth      *Growth            `json:"growth,omitempty"`   // of insertion models
	Networks    map[string]Network `json:"networks,omitempty"` // besides the denoiser
	Vocabulary  Vocabulary         `json:"vocabulary"`
	MaxLength   int                `json:"max_length,omitempty"`
	FixedLength int                `json:"fixed_length,omitempty"`
	FixedRows   int                `json:"fixed_rows,omitempty"`
	ONNX        File               `json:"onnx"`
	Precisions  []string           `json:"precisions"` // what Precision takes; "" is model.onnx itself
	Inputs      []Port             `json:"inputs"`
	Outputs     []Port             `json:"outputs"`
	Opset       int64              `json:"opset"`
	Producer    string             `json:"producer,omitempty"`
	Nodes       int                `json:"nodes"`
	Parameters  int64              `json:"parameters"`
	Defaults    map[string]any     `json:"defaults,omitempty"` // of generation_config.json
	Infill      Infill             `json:"infill"`
	LogitsShift int                `json:"logits_shift,omitempty"`
	Trainer     *Trainer           `json:"trainer,omitempty"`
	Examples    bool               `json:"examples"`
	Exponents   []Exponent         `json:"exponents,omitempty"` // of learned schedules, the largest first
	Digest      string             `json:"digest"`
	Files       []File             `json:"files"`
}

// Vocabulary describes tokens and logits.
type Vocabulary struct {
	Tokenizer  string  `json:"tokenizer"` // model type, such as "WordLevel"
	Size       int     `json:"size"`      // highest id of the tokenizer plus 1
	Logits     int     `json:"logits"`    // width V
	Mask       Named   `json:"mask"`
	Pad        Named   `json:"pad"`
	Prefix     []Named `json:"prefix"` // what is put before a text
	Suffix     []Named `json:"suffix"`
	Suppressed []int32 `json:"suppressed"`
}

// Named is a token id with its spelling.
type Named struct {
	ID    int32  `json:"id"`
	Token string `json:"token"`
}

// Port is an input or output of the ONNX file.
type Port struct {
	Name string `json:"name"`
	Type string `json:"type"` // such as "int64 [batch, seq]"
}

// Describe returns everything that is worth knowing of the model. It hashes the model's files.
func (m *Model) Describe() (*Description, error) {
	files, err := m.Files()
	if err != nil {
		return nil, err
	}
	digest, err := m.Digest()
	if err != nil {
		return nil, err
	}
	prefix, suffix := m.Tokenizer.Template()
	d := &Description{Name: m.Name, Dir: m.Dir, Embedded: m.Dir == "", Type: m.Config.ModelType, Family: m.Manifest.Family, Planner: m.Manifest.Planner,
		Time: m.Manifest.Time.Input, Schedule: m.Manifest.Schedule, Growth: m.growth(), Networks: m.Manifest.Networks, MaxLength: m.MaxLength, FixedLength: m.FixedLength(), FixedRows: m.FixedRows(),
		Vocabulary: Vocabulary{Tokenizer: m.Tokenizer.Kind(), Size: m.Tokenizer.Size(), Logits: m.V, Mask: m.named(m.MaskID)[0], Pad: m.named(m.PadID)[0],
			Prefix: m.named(prefix...), Suffix: m.named(suffix...), Suppressed: m.Suppress()},
		Precisions: m.folder.precisions(), Inputs: ports(m.Graph.Graph.Feeds()), Outputs: ports(m.Graph.Graph.Outputs),
		Opset: m.Graph.Opset(""), Producer: m.Graph.Producer, Nodes: len(m.Graph.Graph.Nodes), Parameters: m.parameters(),
		Defaults: m.Generation, Infill: m.Manifest.Infill, LogitsShift: m.Manifest.LogitsShift, Trainer: m.Manifest.Trainer, Examples: m.Examples != nil, Digest: digest, Files: files}
	if d.Exponents, err = m.exponents(); err != nil {
		return nil, err
	}
	d.ONNX = files[slices.IndexFunc(files, func(f File) bool { return f.Name == m.ONNXName })]
	return d, nil
}

func (m *Model) named(ids ...int32) []Named {
	out := make([]Named, len(ids))
	for i, id := range ids {
		out[i] = Named{id, m.Tokenizer.Token(id)}
	}
	return out
}

func ports(vs []*graph.ValueInfo) []Port {
	out := make([]Port, len(vs))
	for i, v := range vs {
		out[i] = Port{v.Name, show(v)}
	}
	return out
}

// parameters counts the numbers in floating-point initializers; constants of one number are no parameters.
func (m *Model) parameters() int64 {
	var all int64
	for _, t := range m.Graph.Graph.Initializers {
		n := int64(1)
		for _, d := range t.Dims {
			n *= d
		}
		switch t.Type {
		case graph.Float32, graph.Float16, graph.BFloat16, graph.Float64, graph.Int8, graph.Uint8:
			if n > 1 {
				all += n
			}
		}
	}
	return all
}
