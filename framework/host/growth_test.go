package host_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// growingModel writes an insertion model of the letters a, b and c: letters are drawn evenly, text grows mostly at its end, and twelve
// positions are the most. With gap eos rows end in $. tail is the rate of the gap at the text's end.
func growingModel(t *testing.T, gap string, tail float32) string {
	t.Helper()
	b, l := graph.Named("batch"), graph.Named("length")
	value := func(name string, typ graph.Type, dims ...graph.Dim) *graph.ValueInfo {
		return &graph.ValueInfo{Name: name, Type: typ, Shape: dims, HasRank: true}
	}
	rates := []float32{.1, .1, .1, .1, tail, tail} // by the token behind the gap: a b c _ [PAD] $
	m := graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "growing",
		Nodes: []*graph.Node{{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"logits"}},
			{Op: "Gather", Inputs: []string{"rates", "input_ids"}, Outputs: []string{"gaps"}},
			{Op: "Cast", Inputs: []string{"attention_mask"}, Outputs: []string{"shown"}, Attributes: []*graph.Attribute{graph.Int("to", int64(graph.Float32))}},
			{Op: "Sub", Inputs: []string{"shown", "shown"}, Outputs: []string{"zeros"}},
			{Op: "ReduceMin", Inputs: []string{"zeros"}, Outputs: []string{"zero"}, Attributes: []*graph.Attribute{graph.Ints("axes", 1)}},
			{Op: "Add", Inputs: []string{"zero", "rate"}, Outputs: []string{"tail"}},
			{Op: "Concat", Inputs: []string{"gaps", "tail"}, Outputs: []string{"insertion_rate"}, Attributes: []*graph.Attribute{graph.Int("axis", 1)}}},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{6, 6}, make([]float32, 36)), graph.OfFloats("rates", []int64{6}, rates), graph.OfFloats("rate", nil, []float32{tail})},
		Inputs:       []*graph.ValueInfo{value("input_ids", graph.Int64, b, l), value("attention_mask", graph.Int64, b, l)},
		Outputs:      []*graph.ValueInfo{value("logits", graph.Float32, b, l, graph.Known(6)), value("insertion_rate", graph.Float32, b, graph.Named("gaps"))},
	}}
	special := func(id, content string) string {
		return `{"id": ` + id + `, "content": "` + content + `", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}`
	}
	end := "null"
	if gap == sampling.GapEOS {
		end = `{"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "$", "type_id": 0}}], "pair": [],
			"special_tokens": {"$": {"id": "$", "ids": [5], "tokens": ["$"]}}}`
	}
	dir := filepath.Join(t.TempDir(), "growing")
	for name, content := range map[string]string{
		"config.json": `{"model_type": "toy", "vocab_size": 6, "mask_token_id": 3, "pad_token_id": 4, "eos_token_id": 5}`,
		"mdm.json":    `{"family": "insertion", "gap": "` + gap + `", "schedule": {"kind": "kumaraswamy", "a": 2}, "length": {"cap": 12}}`,
		"tokenizer.json": `{"version": "1.0", "added_tokens": [` + special("3", "_") + `,` + special("4", "[PAD]") + `,` + special("5", "$") + `],
			"normalizer": null, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
			"post_processor": ` + end + `, "decoder": {"type": "Fuse"},
			"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2, "_": 3, "[PAD]": 4, "$": 5}, "unk_token": "a"}}`,
		"onnx/model.onnx": string(m.Encode()),
	} {
		if err := os.MkdirAll(filepath.Join(dir, "onnx"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// answers samples what is asked and returns the rows with their texts, in order.
func answers(t *testing.T, h *host.Host, asked ...results.Question) (rows []sampling.Result, texts []string, a sampling.Accounts) {
	t.Helper()
	requests, _, err := results.Requests(h.Model(), h.Config(), asked)
	if err != nil {
		t.Fatal(err)
	}
	rows, texts = make([]sampling.Result, len(requests)), make([]string, len(requests))
	next := 0
	a, err = h.Sample(context.Background(), len(requests), func() (sampling.Request, bool) {
		if next++; next > len(requests) {
			return sampling.Request{}, false
		}
		return requests[next-1], true
	}, func(r sampling.Result) error {
		rows[r.Index], texts[r.Index] = r, h.Model().Tokenizer.Decode(r.Tokens, true)
		rows[r.Index].Elapsed = 0
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, texts, a
}

// An insertion model is sampled by the sampler of its family without a word about it: rows grow where they may, by at most --length,
// in plugins of their own or not, and no planner is asked.
func TestInsertionModel(t *testing.T) {
	dir := growingModel(t, sampling.GapEOS, .5)
	asked := []results.Question{{Kind: results.Prompt, Text: ""}, {Kind: results.Prompt, Text: "ab"}, {Kind: results.Infill, Text: "a__c"}, {Kind: results.Infill, Text: "_b_"},
		{Kind: results.Tokens, Tokens: []int32{2, 3, 2, 5}}}
	h := open(t, false, "model="+dir, "seed=5", "num=40", "batch=16", "planner=random")
	rows, texts, a := answers(t, h, asked...)
	if h.Config().Sampler.Name != "insertion" || a.PlanCalls != 0 || a.Rows != 200 {
		t.Errorf("sampler %s, %d planner calls, %d rows", h.Config().Sampler.Name, a.PlanCalls, a.Rows)
	}
	lengths, finishes := map[int]int{}, map[sampling.Finish]int{}
	for i, r := range rows {
		text, inner := texts[i], texts[i]
		switch i / 40 {
		case 1:
			inner = strings.TrimPrefix(text, "ab")
		case 2:
			inner = strings.TrimSuffix(strings.TrimPrefix(text, "a"), "c")
		case 3:
			inner = strings.Replace(text, "b", "", 1)
		case 4:
			inner = strings.TrimSuffix(strings.TrimPrefix(text, "c"), "c")
		}
		given := []int{0, 2, 2, 1, 2}[i/40]
		if len(inner) != len(text)-given || strings.Trim(text, "abc") != "" || len(r.Tokens) != len(text)+1 || r.Tokens[len(text)] != 5 || len(r.Tokens) > 12 {
			t.Errorf("row %d: %q, tokens %v", i, text, r.Tokens)
		}
		written := 0
		for j, born := range r.Born {
			if (born < 0) != (r.StepMap[j] < 0) || born >= 0 && r.StepMap[j] <= born {
				t.Errorf("row %d: position %d was born at step %d and opened at %d", i, j, born, r.StepMap[j])
			}
			if born >= 0 {
				written++
			}
		}
		if written != len(inner) || r.Opened != written || r.NFE > 128 || r.Err != nil || (r.Capped > 0) != (r.Finish == sampling.FinishLength) {
			t.Errorf("row %d: %q with %d positions born, %d opened, %d capped, finish %s, %d passes, error %v", i, text, written, r.Opened, r.Capped, r.Finish, r.NFE, r.Err)
		}
		lengths[len(inner)]++
		finishes[r.Finish]++
	}
	t.Logf("lengths %v, finishes %v", lengths, finishes)
	if len(lengths) < 6 || finishes[sampling.FinishComplete] == 0 || finishes[sampling.FinishLength] == 0 {
		t.Errorf("lengths %v, finishes %v: expected many", lengths, finishes)
	}
	again, _, _ := answers(t, open(t, true, "model="+dir, "seed=5", "num=40", "batch=1"), asked...)
	if diff := cmp.Diff(rows, again, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("other places and batches: %s", diff)
	}
	short, texts, _ := answers(t, open(t, true, "model="+dir, "seed=5", "num=40", "length=3", "steps=30"), asked...)
	if !slices.ContainsFunc(short, func(r sampling.Result) bool { return r.Finish == sampling.FinishLength }) {
		t.Error("no row reached its length")
	}
	for i, text := range texts {
		if given := []int{0, 2, 2, 1, 2}[i/40]; len(text) > given+3 || short[i].NFE > 30 {
			t.Errorf("row %d: %q has more than 3 positions of its own, or %d passes", i, text, short[i].NFE)
		}
	}
}

// A model that says nothing sound of a gap fails its rows, by name; settings and samplers of fixed lengths are refused.
func TestInsertionModelRefusals(t *testing.T) {
	dir := growingModel(t, sampling.GapEOS, float32(math.NaN()))
	rows, _, _ := answers(t, open(t, true, "model="+dir, "seed=5"), results.Question{Kind: results.Prompt, Text: "ab"})
	if err := rows[0].Err; rows[0].Finish != sampling.FinishError || err == nil || !strings.Contains(err.Error(), "row 0, step 0, gap 2: the insertion rate is NaN") {
		t.Errorf("finish %s, error %v", rows[0].Finish, err)
	}
	for setting, want := range map[string]string{
		"sampler=masked":               "sampler masked: INVALID_CONFIG: leaves rows as long as they are, and model",
		"sampler=gillespie":            "use --sampler insertion",
		"sampling.block_length=4":      "have no blocks; leave it out",
		`sampling.stop=["a"]`:          "sampling.stop",
		"sampling.eos_early_stop=true": "sampling.eos_early_stop",
		"sampling.pad_to=4":            "sampling.pad_to",
		"sampling.credit_alpha=0.7":    "positions move",
		"sampling.cfg_scale=1":         "sampling.cfg_scale",
	} {
		key, value, _ := strings.Cut(setting, "=")
		cfg, err := config.Load(config.Sources{Flags: []config.Assignment{{Key: "model", Value: dir}, {Key: key, Value: value}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = host.Open(t.Context(), cfg, host.Options{InProcess: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", setting, err, want)
		}
	}
	h := open(t, true, "model="+growingModel(t, sampling.GapEOS, .5))
	for text, want := range map[string]string{"abcabcabcabca": "prompt: has 14 positions with special tokens, expected at most 12", "abcabcabcab": "leaves none of the model's 12"} {
		if _, _, err := results.Requests(h.Model(), h.Config(), []results.Question{{Kind: results.Prompt, Text: text}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Where no token ends a row it may begin with none, and the gap behind it grows.
func TestInsertionModelWithoutEnd(t *testing.T) {
	asked := []results.Question{{Kind: results.Prompt}, {Kind: results.Prompt, Text: "ab"}, {Kind: results.Tokens, Tokens: []int32{}}, {Kind: results.Infill, Text: "_b"}}
	rows, texts, _ := answers(t, open(t, false, "model="+growingModel(t, sampling.GapTail, .5), "seed=6", "num=30", "batch=8"), asked...)
	grown := 0
	for i, r := range rows {
		starts, ends := []string{"", "ab", "", ""}[i/30], []string{"", "", "", "b"}[i/30]
		if !strings.HasPrefix(texts[i], starts) || !strings.HasSuffix(texts[i], ends) || len(r.Tokens) != len(texts[i]) || r.Err != nil || i/30 == 2 && len(r.Tokens) != 0 {
			t.Errorf("row %d: %q, tokens %v, error %v", i, texts[i], r.Tokens, r.Err)
		}
		grown += r.Opened
	}
	if grown < 200 {
		t.Errorf("%d positions grew in 90 rows", grown)
	}
	rows, _, _ = answers(t, open(t, true, "model="+growingModel(t, sampling.GapTail, float32(math.NaN()))), results.Question{Kind: results.Prompt})
	if err := rows[0].Err; err == nil || !strings.Contains(err.Error(), "gap 0: the insertion rate is NaN") || !strings.Contains(err.Error(), "a row without tokens") {
		t.Errorf("error %v of an empty row", err)
	}
}

// A masked model is the case without gaps: its masks open at rate 1, and no planner is asked.
func TestMaskedModelByInsertion(t *testing.T) {
	rows, texts, a := answers(t, open(t, false, "model=testdata/joint-l4v3", "sampler=insertion", "planner=random", "seed=3", "num=50", "steps=16"), results.Question{Kind: results.Prompt})
	for i, r := range rows {
		if r.Finish != sampling.FinishComplete || len(texts[i]) != 4 || r.Born != nil {
			t.Errorf("row %d: %q, finish %s", i, texts[i], r.Finish)
		}
	}
	if a.PlanCalls != 0 || a.Rows != 50 {
		t.Errorf("%d planner calls, %d rows", a.PlanCalls, a.Rows)
	}
}
