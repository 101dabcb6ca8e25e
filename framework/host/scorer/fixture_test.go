package scorer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
)

// toy is a model directory in the making: single-character tokens and a network that is a table. logits[b, l] is row
// input_ids[b, l] of the table [V, V]; with keep, the log-odds are that element of keep [V], and those of the mask pattern added.
type toy struct {
	vocab   []string // text by id; "" is an id without a token
	mask    string
	unknown string   // "" for none
	ends    []string // tokens before and after a text, or nil
	pad     string   // "" for none
	table   []float32
	keep    []float32 // [V] or nil
	pattern []float32 // [2] or nil
	change  func(*graph.Graph)
}

// pair is what a toy says of a token after another, whatever their ids.
func pair(a, b string) float32 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(a + "|" + b) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return float32(math.Sin(float64(h%1e6))) * 3
}

func newToy(vocab ...string) *toy {
	m := &toy{vocab: vocab, mask: "_"}
	for _, a := range vocab {
		for _, b := range vocab {
			m.table = append(m.table, pair(a, b))
		}
	}
	return m
}

// judge gives the toy the binary head, with the mask pattern.
func (m *toy) judge() *toy {
	for _, a := range m.vocab {
		m.keep = append(m.keep, pair(a, "keep"))
	}
	m.pattern = []float32{0.25, -1.5}
	return m
}

func (m *toy) graph() *graph.Model {
	rows := []graph.Dim{graph.Named("b"), graph.Named("l")}
	port := func(name string, t graph.Type, dims ...graph.Dim) *graph.ValueInfo {
		return &graph.ValueInfo{Name: name, Type: t, HasRank: true, Shape: append([]graph.Dim{}, dims...)}
	}
	v := int64(len(m.vocab))
	g := &graph.Graph{Name: "toy", Inputs: []*graph.ValueInfo{port("input_ids", graph.Int64, rows...), port("attention_mask", graph.Int64, rows...)}}
	if m.keep == nil {
		g.Nodes = []*graph.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"logits"}}}
		g.Initializers = []*graph.Tensor{graph.OfFloats("table", []int64{v, v}, m.table)}
		g.Outputs = []*graph.ValueInfo{port("logits", graph.Float32, rows[0], rows[1], graph.Known(v))}
	} else {
		g.Inputs = append(g.Inputs, port("masked", graph.Int64, rows...))
		g.Nodes = []*graph.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"token"}},
			{Op: "Gather", Inputs: []string{"pattern", "masked"}, Outputs: []string{"place"}}, {Op: "Add", Inputs: []string{"token", "place"}, Outputs: []string{"keep"}}}
		g.Initializers = []*graph.Tensor{graph.OfFloats("table", []int64{v}, m.keep), graph.OfFloats("pattern", []int64{2}, m.pattern)}
		g.Outputs = []*graph.ValueInfo{port("keep", graph.Float32, rows...)}
	}
	if m.change != nil {
		m.change(g)
	}
	return &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
}

// write makes the directory; extra files are pairs of name and content.
func (m *toy) write(t *testing.T, extra ...string) string {
	t.Helper()
	vocab, mask := map[string]int{}, 0
	for id, text := range m.vocab {
		if text != "" {
			vocab[text] = id
		}
		if text == m.mask {
			mask = id
		}
	}
	special, post := []any{}, map[string]any(nil)
	for id, text := range m.vocab {
		if text != "" && (text == m.pad || slices.Contains(m.ends, text)) {
			special = append(special, map[string]any{"id": id, "content": text, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
		}
	}
	if m.ends != nil {
		token := func(i int) any { return map[string]any{"SpecialToken": map[string]any{"id": m.ends[i], "type_id": 0}} }
		known := map[string]any{}
		for _, text := range m.ends {
			known[text] = map[string]any{"id": text, "ids": []int{slices.Index(m.vocab, text)}, "tokens": []string{text}}
		}
		post = map[string]any{"type": "TemplateProcessing", "special_tokens": known, "pair": []any{},
			"single": []any{token(0), map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, token(1)}}
	}
	spec := map[string]any{"type": "WordLevel", "vocab": vocab, "unk_token": m.unknown}
	tokenizer, err := json.Marshal(map[string]any{"version": "1.0", "added_tokens": special, "post_processor": post, "model": spec, "decoder": map[string]any{"type": "Fuse"},
		"pre_tokenizer": map[string]any{"type": "Split", "pattern": map[string]any{"Regex": "."}, "behavior": "Isolated", "invert": false}})
	if err != nil {
		t.Fatal(err)
	}
	dir, pad := t.TempDir(), "null"
	if m.pad != "" {
		pad = fmt.Sprint(slices.Index(m.vocab, m.pad))
	}
	files := map[string]string{"tokenizer.json": string(tokenizer), "model.onnx": string(m.graph().Encode()),
		"config.json": fmt.Sprintf(`{"model_type": "toy", "vocab_size": %d, "mask_token_id": %d, "pad_token_id": %s, "max_position_embeddings": 12}`, len(m.vocab), mask, pad)}
	if m.keep != nil {
		files["mdm.json"] = `{"family": "planner", "planner": {"head": "binary", "mask_pattern": true}}`
	}
	for i := 0; i < len(extra); i += 2 {
		files[extra[i]] = extra[i+1]
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// beside opens a network beside a denoiser, as a host does.
func beside(t *testing.T, denoiser, network string, more ...config.Assignment) (*Network, error) {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: append(more, config.Assignment{Key: "planner.network", Value: network, Flag: "--set"})})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(denoiser)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), cfg, m)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, nil
}

func matches(t *testing.T, pattern, text string) bool {
	t.Helper()
	ok, err := regexp.MatchString(pattern, text)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}
