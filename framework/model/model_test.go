package model_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

func TestEmbedded(t *testing.T) {
	for _, name := range model.Embedded() {
		m, err := model.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Dir != "" || m.Name != name || len(m.ONNX) == 0 {
			t.Errorf("%s: Dir %q, Name %q, %d bytes", name, m.Dir, m.Name, len(m.ONNX))
		}
		for _, line := range bytes.Split(bytes.TrimSpace(m.Examples), []byte("\n")) {
			var in struct{ Infill, Prompt *string }
			if err := json.Unmarshal(line, &in); err != nil {
				t.Fatal(err)
			}
			var row model.Row
			var err error
			switch {
			case in.Infill != nil:
				row, err = m.EncodeInfill(*in.Infill)
			case in.Prompt != nil:
				row, err = m.EncodePrompt(*in.Prompt, 0)
			default:
				t.Errorf("%s: example %s: neither infill nor prompt", name, line)
				continue
			}
			if err != nil || !row.Opens() || row.Unknown != nil {
				t.Errorf("%s: example %s: opens %t, unknown %v, %v", name, line, row.Opens(), row.Unknown, err)
			}
		}
	}
	first, err := model.Open("")
	if err != nil || first.Name != model.Default {
		t.Fatal(first, err)
	}
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	if m.V != 591 || m.MaskID != 14 || m.PadID != 0 || m.MaxLength != 512 || !m.AttentionMask || m.Timesteps {
		t.Errorf("%s: V %d, mask %d, pad %d, length %d", m.Name, m.V, m.MaskID, m.PadID, m.MaxLength)
	}
	if want := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}; !cmp.Equal(m.Suppress(), want) {
		t.Errorf("Suppress() = %v, want %v", m.Suppress(), want)
	}
	if got := m.SuppressWith([]int32{20}); !cmp.Equal(got, []int32{14, 20}) {
		t.Errorf("SuppressWith(20) = %v, want 14 and 20", got)
	}
}

// TestForeign opens what others export: config.json without a mask, token types, half precision, fixed sizes.
func TestForeign(t *testing.T) {
	f := newFixture().with("config.json", `{"model_type": "bert", "eos_token_id": [1, 2], "bos_token_id": null}`).
		with("generation_config.json", `{"transformers_version": "5", "do_sample": true, "sampling": {"temperature": 0.5}}`).
		input(value("attention_mask", graph.Int64, batch, length)).input(value("token_type_ids", graph.Int64, batch, length))
	f.files["tokenizer.json"] = strings.ReplaceAll(characters, `"_"`, `"<mask>"`)
	f.graph.Graph.Outputs[0] = value("logits", graph.Float16, batch, length, graph.Known(9))
	m := f.open(t)
	if m.MaskID != 5 || m.PadID != 6 || m.V != 9 || m.MaxLength != 0 || m.MaskText() != "<mask>" || m.Config.EOS != 1 || m.Config.BOS != -1 {
		t.Errorf("mask %d, pad %d, V %d, length %d, eos %d", m.MaskID, m.PadID, m.V, m.MaxLength, m.Config.EOS)
	}
	if want := []int32{5, 7, 8}; !cmp.Equal(m.Suppress(), want) { // mask, and ids beyond the tokenizer
		t.Errorf("Suppress() = %v, want %v", m.Suppress(), want)
	}
	if !m.TokenTypeIDs || m.Logits != graph.Float16 || m.Manifest.Family != "masked" || *m.Manifest.Time.NoiseAt != 1 || m.Manifest.Time.Input != "none" {
		t.Errorf("signature %+v, manifest %+v", m.Signature, m.Manifest)
	}
	if m.Generation["do_sample"] != true || m.GenerationConfig == nil {
		t.Errorf("generation %v", m.Generation)
	}
}

func TestLengths(t *testing.T) {
	for _, c := range []struct {
		config, manifest string
		want             int
	}{
		{`{"mask_token_id": 5, "max_position_embeddings": 512}`, "", 512},
		{`{"mask_token_id": 5, "max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}`, "", 512},
		{`{"mask_token_id": 5, "max_position_embeddings": 514, "model_type": "roberta"}`, "", 512},
		{`{"mask_token_id": 5, "n_positions": 64}`, "", 64},
		{`{"mask_token_id": 5, "max_position_embeddings": 512}`, `{"length": {"cap": 81, "policy": "fixed"}}`, 81},
		{`{"mask_token_id": 5}`, "", 0},
	} {
		f := newFixture().with("config.json", c.config)
		if c.manifest != "" {
			f.with("mdm.json", c.manifest)
		}
		if m := f.open(t); m.MaxLength != c.want {
			t.Errorf("config %s, manifest %s: longest row %d, want %d", c.config, c.manifest, m.MaxLength, c.want)
		}
	}
}

func TestTimeAndInsertion(t *testing.T) {
	f := newFixture().input(value("timesteps", graph.Float32, batch)).with("mdm.json", `{"time": {"noise_at": 0}}`)
	if m := f.open(t); m.Manifest.Time.Input != "t" || *m.Manifest.Time.NoiseAt != 0 {
		t.Errorf("time %+v, want t with the noise at 0", m.Manifest.Time)
	}
	f = newFixture().with("mdm.json", `{"family": "insertion", "schedule": {"kind": "kumaraswamy", "a": 2}}`)
	f.graph.Graph.Outputs = append(f.graph.Graph.Outputs, value("insertion_rate", graph.Float32, batch, graph.Named("gaps")))
	m := f.open(t)
	if !m.Insertion() || *m.Manifest.Time.NoiseAt != 0 || m.Manifest.Schedule.A != 2 {
		t.Errorf("manifest %+v", m.Manifest)
	}
	row, err := m.EncodePrompt("ab", 0)
	if err != nil || !cmp.Equal(row.Tokens, []int32{0, 1}) {
		t.Errorf("EncodePrompt = %v, %v: an insertion row begins without blanks", row, err)
	}
}

func TestPrecision(t *testing.T) {
	f := newFixture()
	whole := string(f.graph.Encode())
	f.graph.Graph.Outputs[0].Type = graph.Float16
	dir := f.with("onnx/model_fp16.onnx", string(f.graph.Encode())).with("onnx/model.onnx", whole).write(t)
	for precision, want := range map[string]graph.Type{"": graph.Float32, "fp16": graph.Float16} {
		m, err := model.Open(dir, model.Precision(precision))
		if err != nil || m.Logits != want {
			t.Errorf("precision %q: logits %v, %v, want %v", precision, m.Logits, err, want)
		}
	}
	// model.onnx beside config.json
	if err := os.Rename(filepath.Join(dir, "onnx/model.onnx"), filepath.Join(dir, "model.onnx")); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil || m.ONNXName != "model.onnx" {
		t.Errorf("model.onnx beside config.json: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	d, err := m.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if d.Parameters < 800_000 || d.Parameters > 1_000_000 || d.ONNX.Bytes != int64(len(m.ONNX)) || d.Opset != 17 || !d.Examples ||
		d.Vocabulary.Mask != (model.Named{ID: 14, Token: "[MASK]"}) || d.Vocabulary.Prefix[0].Token != "[CLS]" {
		t.Errorf("description %+v", d)
	}
	if want := []model.Port{{Name: "input_ids", Type: "int64 [b, s]"}, {Name: "attention_mask", Type: "int64 [b, s]"}}; !cmp.Equal(d.Inputs, want) {
		t.Errorf("inputs %v, want %v", d.Inputs, want)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

func TestDigests(t *testing.T) {
	f := newFixture()
	digest := func(dir string) string {
		m, err := model.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	dir := f.write(t)
	first := digest(dir)
	if again := digest(f.write(t)); again != first {
		t.Errorf("digests of equal directories differ: %s and %s", first, again)
	}
	if err := os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest(dir) != first {
		t.Error("examples change the digest, but not what the model samples")
	}
	f.with("mdm.json", `{"digests": {"tokenizer.json": "`+strings.Repeat("0", 64)+`", "config.json": "0b2c`+strings.Repeat("0", 60)+`", "../x": "`+strings.Repeat("0", 64)+`"}}`)
	m := f.open(t)
	if d := digest(m.Dir); d == first {
		t.Error("mdm.json does not change the digest")
	}
	_, err := m.Verify()
	mustFail(t, err, "tokenizer.json: sha256 is", "expected 0000", "config.json: sha256", `"../x" is outside`)
	files, err := m.Files()
	if err != nil {
		t.Fatal(err)
	}
	f.with("mdm.json", `{"digests": {"`+files[0].Name+`": "sha256:`+files[0].SHA256+`"}}`)
	if checked, err := f.open(t).Verify(); err != nil || !cmp.Equal(checked, []string{"config.json"}) {
		t.Errorf("Verify() = %v, %v", checked, err)
	}
}
