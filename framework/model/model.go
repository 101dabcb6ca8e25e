// Package model reads model directories: configuration, manifest, tokenizer and the ONNX file of a denoiser, checked
// against each other, and turns text into rows. A foreign masked language model needs config.json, tokenizer.json and
// onnx/model.onnx; everything else has defaults.
package model

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/internal/jsonfile"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// Model is an opened model directory. It does not change and may be used from several goroutines.
type Model struct {
	Name string // embedded name, or the path as it was given
	Dir  string // absolute path of the directory, or "" for an embedded model

	Config    *Config
	Manifest  *Manifest // mdm.json with its defaults
	Tokenizer tokenizer.Tokenizer

	// GenerationConfig is generation_config.json as it stands, or nil. Generation is the same, parsed: the default
	// sampler, planner and sampling settings, and whatever else a Hugging Face file holds.
	GenerationConfig []byte
	Generation       map[string]any

	ONNXName string       // file of the denoiser below the directory
	ONNX     []byte       // its content; Graph refers to it, so it must not be changed
	Graph    *graph.Model // the same, decoded
	*Signature

	MaskID int32
	PadID  int32 // what rows are padded with; any id but the mask where nobody names one
	V      int   // width of the logits

	// MaxLength is the most positions that a row may have, special tokens included, or 0 where nothing bounds it.
	MaxLength int
	// Examples is prompts.jsonl, inputs that show what the model can do, or nil.
	Examples []byte

	suppress []int32 // of Generation
	symbols  *strings.Replacer
	folder   folder
}

// Insertion tells whether rows grow.
func (m *Model) Insertion() bool { return m.Manifest.Family == "insertion" }

// ONNXDir is the absolute path of the folder that holds the ONNX file and its external data, or "" for an embedded model.
func (m *Model) ONNXDir() string {
	if m.Dir == "" {
		return ""
	}
	return filepath.Join(m.Dir, filepath.Dir(filepath.FromSlash(m.ONNXName)))
}

// RefuseShift is an error where the logits are shifted and a part of the program, such as "training", would ignore it.
func (m *Model) RefuseShift(part string) error {
	if m.Manifest.LogitsShift == 0 {
		return nil
	}
	return fmt.Errorf("model %s: its logits are for the next position (mdm.json: logits_shift), which sampling and evaluation undo and %s does not; export the model with logits that stand where their tokens do, without logits_shift", m.Name, part)
}

// FixedLength is the row length that the export fixed, or 0. Shorter rows are padded, if the model takes an attention mask.
func (m *Model) FixedLength() int { return m.Signature.Length }

// FixedRows is the batch size that the export fixed, or 0.
func (m *Model) FixedRows() int { return m.Signature.Rows }

// MaskText is how the mask is written in infill text.
func (m *Model) MaskText() string {
	if s := m.Tokenizer.Token(m.MaskID); s != "" {
		return s
	}
	return "[MASK]"
}

// settleFamily refuses a planner network as a denoiser, and an insertion model as a planner network.
func (m *Model) settleFamily(o options) error {
	name := m.folder.path(manifestFileName)
	switch {
	case o.any:
	case m.Manifest.Planner != nil && !o.planner:
		return fmt.Errorf("%s: family is \"planner\": the network scores tokens and proposes none, expected a denoiser; give it as planner.network beside a model", name)
	case m.Insertion() && o.planner:
		return fmt.Errorf("%s: family is \"insertion\", expected a planner network (family planner) or a masked language model; name another one", name)
	case o.planner && m.Manifest.Planner == nil:
		m.Manifest.Planner = &Planner{Head: HeadVocabulary}
	}
	return nil
}

// settleTime lets manifest and ONNX file agree on the time input.
func (m *Model) settleTime(manifest []byte) error {
	name := m.folder.path(manifestFileName)
	t := &m.Manifest.Time
	switch {
	case t.Input == "" && m.Timesteps && manifest == nil:
		return fmt.Errorf("model %s: %s takes timesteps, but there is no mdm.json that says at which end everything is masked; add one with {\"time\": {\"input\": \"t\", \"noise_at\": 1}}", m.Name, m.ONNXName)
	case t.Input == "t" && !m.Timesteps:
		return fmt.Errorf("%s: time.input is \"t\", but %s takes no timesteps; set it to \"none\"", name, m.ONNXName)
	case t.Input == "none" && m.Timesteps:
		return fmt.Errorf("%s: time.input is \"none\", but %s takes timesteps; set it to \"t\"", name, m.ONNXName)
	case m.Timesteps:
		t.Input = "t"
	default:
		t.Input = "none"
	}
	if m.Insertion() != m.InsertionRate {
		return fmt.Errorf("%s: family is %q, but %s has insertion_rate: %t; the two must agree", name, m.Manifest.Family, m.ONNXName, m.InsertionRate)
	}
	return nil
}

// settleVocabulary finds the width of the logits, the mask and the padding, and refuses what does not fit together.
func (m *Model) settleVocabulary() error {
	config := m.folder.path(configFileName)
	size := m.Tokenizer.Size()
	if m.V = m.Signature.V; m.Keep { // nothing is as wide as the vocabulary
		m.V = max(m.Config.VocabSize, size)
	} else if m.V == 0 {
		if m.V = m.Config.VocabSize; m.V == 0 {
			return fmt.Errorf("%s: has no vocab_size, and %s does not say how wide the logits are; add vocab_size", config, m.ONNXName)
		}
	}
	if size > m.V {
		return fmt.Errorf("%s: its ids reach %d, but the logits of %s are %d wide: the files do not belong together; use the tokenizer that the model was trained with",
			m.folder.path(tokenizerFileName), size-1, m.ONNXName, m.V)
	}
	if m.Config.VocabSize > m.V {
		return fmt.Errorf("%s: vocab_size is %d, but the logits of %s are %d wide: the files do not belong together; export the model again", config, m.Config.VocabSize, m.ONNXName, m.V)
	}
	if m.MaskID = m.Config.Mask; m.MaskID < 0 {
		id, ok := m.Tokenizer.Mask()
		if !ok {
			return fmt.Errorf("%s: has no mask_token_id, and the tokenizer has no one mask token such as [MASK] or <mask>; add mask_token_id (a causal language model has none and cannot be used)", config)
		}
		m.MaskID = id
	}
	if int(m.MaskID) >= m.V {
		return fmt.Errorf("%s: mask_token_id is %d, expected an id below %d, the width of the logits; correct it", config, m.MaskID, m.V)
	}
	if int(m.Config.Pad) >= m.V {
		return fmt.Errorf("%s: pad_token_id is %d, expected an id below %d, the width of the logits; correct it", config, m.Config.Pad, m.V)
	}
	m.PadID = m.padding()
	return nil
}

// padding is the id that fills rows up: by config.json, by its spelling, or any that is not the mask.
func (m *Model) padding() int32 {
	if m.Config.Pad >= 0 {
		return m.Config.Pad
	}
	for _, spelling := range []string{"[PAD]", "<pad>", "<|pad|>", "<|padding|>"} {
		if id, ok := m.Tokenizer.ID(spelling); ok {
			return id
		}
	}
	if m.MaskID == 0 {
		return int32(min(1, m.V-1))
	}
	return 0
}

// settleLength takes the smallest of what bounds rows.
func (m *Model) settleLength() {
	for _, n := range []int{m.Config.MaxPositions, m.Manifest.Length.Cap, m.FixedLength()} {
		if n > 0 && (m.MaxLength == 0 || n < m.MaxLength) {
			m.MaxLength = n
		}
	}
}

// readGeneration reads generation_config.json. Settings are checked where they are used; a misspelt section is found here,
// because a Hugging Face file may hold any other key.
func (m *Model) readGeneration() (err error) {
	name := m.folder.path(generationFileName)
	if m.GenerationConfig, err = m.folder.optional(generationFileName); err != nil || m.GenerationConfig == nil {
		return err
	}
	if err := jsonfile.Decode(name, m.GenerationConfig, &m.Generation); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(m.Generation)) {
		for _, own := range []string{"planner", "sampler", "sampling"} {
			if d := levenshtein.Distance(key, own, nil); d > 0 && d <= 2 && !(key == "sampler" || key == "sampling") {
				return fmt.Errorf("%s: unknown key %q; did you mean %q?", name, key, own)
			}
		}
	}
	var list struct {
		Sampling struct {
			Suppress []int64 `json:"suppress_tokens"`
		} `json:"sampling"`
	}
	if err := jsonfile.Decode(name, m.GenerationConfig, &list); err != nil {
		return err
	}
	for _, id := range list.Sampling.Suppress {
		if id < 0 || id >= int64(m.V) {
			return fmt.Errorf("%s: sampling.suppress_tokens: id %d, expected 0 to %d; correct it", name, id, m.V-1)
		}
		m.suppress = append(m.suppress, int32(id))
	}
	if len(m.Suppress()) >= m.V {
		return fmt.Errorf("%s: sampling.suppress_tokens: leaves no token to draw; shorten the list", name)
	}
	return nil
}

// Suppress returns the ids that are never produced, sorted: the mask, ids without a token, and those of
// sampling.suppress_tokens in generation_config.json.
func (m *Model) Suppress() []int32 { return m.SuppressWith(m.suppress) }

// SuppressWith is [Model.Suppress] with other ids in the place of those of generation_config.json. An insertion model never writes a special
// token: they stand where a row begins and ends, and nothing else may pass for that.
func (m *Model) SuppressWith(ids []int32) []int32 {
	out := append([]int32{m.MaskID}, ids...)
	for id := range int32(m.V) {
		if m.Tokenizer.Token(id) == "" || m.Insertion() && m.Tokenizer.Special(id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
