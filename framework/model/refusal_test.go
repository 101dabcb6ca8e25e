package model_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// refusal is a directory that must not open, and what the error must say.
type refusal struct {
	f    *fixture
	says []string
}

func refused(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := c.f.write(t)
			_, err := model.Open(dir)
			mustFail(t, err, append(c.says, dir)...)
		})
	}
}

func TestRefusedFiles(t *testing.T) {
	config := func(s string) *fixture { return newFixture().with("config.json", s) }
	manifest := func(s string) *fixture { return newFixture().with("mdm.json", s) }
	generation := func(s string) *fixture { return newFixture().with("generation_config.json", s) }
	refused(t, map[string]refusal{
		"empty directory":      {&fixture{files: map[string]string{}}, []string{"no config.json", "no tokenizer.json", "no onnx/model.onnx", "a model directory needs"}},
		"no tokenizer":         {newFixture().with("tokenizer.json", ""), []string{"has no tokenizer.json; a model directory needs"}},
		"other precision only": {(&fixture{files: newFixture().files}).with("onnx/model_fp16.onnx", "x"), []string{"has no onnx/model.onnx", "onnx/model_fp16.onnx"}},

		"config cut off":      {config("{\n \"vocab_size\": 7,"), []string{"config.json:2:18", "ends too early"}},
		"config with a typo":  {config("{\n \"a\": 1,\n \"b\" 2}"), []string{"config.json:3:6", "malformed JSON"}},
		"config of text":      {config(`{"vocab_size": "many"}`), []string{"config.json:1:", "vocab_size is a JSON string, expected an integer"}},
		"config null":         {config("null"), []string{"config.json: is null"}},
		"config empty":        {config("\n"), []string{"config.json: is empty"}},
		"two values":          {config("{}\n{}"), []string{"config.json:2:1", "after the end"}},
		"absurd vocabulary":   {config(`{"vocab_size": 99999999999}`), []string{"vocab_size is 99999999999"}},
		"vocab beyond logits": {config(`{"vocab_size": 8, "mask_token_id": 5}`), []string{"vocab_size is 8", "7 wide"}},
		"no mask":             {config(`{}`).with("tokenizer.json", strings.ReplaceAll(characters, `"_"`, `"m"`)), []string{"no mask_token_id", "add mask_token_id"}},
		"mask out of range":   {config(`{"mask_token_id": 7}`), []string{"mask_token_id is 7", "below 7"}},
		"mask negative":       {config(`{"mask_token_id": -3}`), []string{"mask_token_id is -3"}},
		"mask enormous":       {config(`{"mask_token_id": 5000000000}`), []string{"mask_token_id is 5000000000"}},
		"mask a word":         {config(`{"mask_token_id": "[MASK]"}`), []string{"config.json", `"[MASK]", expected an integer`}},
		"pad out of range":    {config(`{"mask_token_id": 5, "pad_token_id": 7}`), []string{"pad_token_id is 7"}},
		"tokenizer no model":  {newFixture().with("tokenizer.json", `{}`), []string{"tokenizer.json: has no model.vocab"}},

		"manifest unknown key":   {manifest(`{"famly": "masked"}`), []string{`mdm.json: unknown key "famly"; did you mean "family"?`}},
		"manifest nested key":    {manifest(`{"time": {"noise": 1}}`), []string{`mdm.json: time: unknown key "noise"`, "noise_at"}},
		"manifest two problems":  {manifest(`{"famly": 1, "gap": "n"}`), []string{"famly", "gap: value must be one of 'n+1', 'eos'"}},
		"manifest family":        {manifest(`{"family": "other"}`), []string{"family: value must be one of 'masked', 'insertion'"}},
		"manifest schedule":      {manifest(`{"schedule": {"kind": "polynomial"}}`), []string{"schedule: missing property 'c'"}},
		"manifest no cap":        {manifest(`{"length": {"policy": "fixed"}}`), []string{"policy fixed needs a cap"}},
		"manifest digest":        {manifest(`{"digests": {"config.json": "12"}}`), []string{"digests.config.json"}},
		"manifest array":         {manifest(`[]`), []string{"mdm.json: got array, want object"}},
		"manifest malformed":     {manifest("{\n\n]"), []string{"mdm.json:3:1"}},
		"manifest time":          {manifest(`{"time": {"input": "t"}}`), []string{"takes no timesteps"}},
		"insertion without rate": {manifest(`{"family": "insertion"}`), []string{"insertion_rate"}},

		"generation malformed":      {generation(`{"sampling": }`), []string{"generation_config.json:1:14"}},
		"generation misspelt":       {generation(`{"samling": {}}`), []string{`unknown key "samling"; did you mean "sampling"?`}},
		"suppressed out of range":   {generation(`{"sampling": {"suppress_tokens": [7]}}`), []string{"suppress_tokens: id 7, expected 0 to 6"}},
		"everything is suppressed":  {generation(`{"sampling": {"suppress_tokens": [0,1,2,3,4,5,6]}}`), []string{"leaves no token"}},
		"suppressed is not numbers": {generation(`{"sampling": {"suppress_tokens": "a"}}`), []string{"generation_config.json:1:", "suppress_tokens"}},
	})
}

func TestRefusedONNX(t *testing.T) {
	onnx := func(change func(*graph.Graph)) *fixture {
		f := newFixture()
		change(f.graph.Graph)
		return f
	}
	raw := func(s string) *fixture { return newFixture().with("onnx/model.onnx", s) }
	tensor := func(x *graph.Tensor) *fixture {
		return onnx(func(g *graph.Graph) { g.Initializers = append(g.Initializers, x) })
	}
	output := func(v *graph.ValueInfo) *fixture {
		return onnx(func(g *graph.Graph) { g.Outputs = []*graph.ValueInfo{v} })
	}
	whole := string(newFixture().graph.Encode())
	known := graph.Known
	refused(t, map[string]refusal{
		"truncated":         {raw(whole[:len(whole)/2]), []string{"model.onnx", "damaged"}},
		"cut to a byte":     {raw("\x08"), []string{"model.onnx", "damaged"}},
		"web page":          {raw("<!DOCTYPE html><html>404</html>"), []string{"is a web page"}},
		"lfs pointer":       {raw("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"), []string{"git lfs pull"}},
		"text":              {raw("not a model at all"), []string{"model.onnx"}},
		"no graph":          {raw("\x08\x08"), []string{"has no graph"}},
		"absurd tensor":     {tensor(&graph.Tensor{Name: "big", Type: graph.Float32, Dims: []int64{1 << 60}, Raw: []byte{1, 2, 3, 4}}), []string{`"big"`, "absurd"}},
		"overflowing dims":  {tensor(&graph.Tensor{Name: "big", Type: graph.Float32, Dims: []int64{1 << 32, 1 << 32}, Raw: []byte{1, 2, 3, 4}}), []string{`"big"`, "absurd"}},
		"negative dims":     {tensor(&graph.Tensor{Name: "neg", Type: graph.Float32, Dims: []int64{-1}, Raw: []byte{1, 2, 3, 4}}), []string{`"neg"`, "absurd"}},
		"too little data":   {tensor(&graph.Tensor{Name: "cut", Type: graph.Float32, Dims: []int64{2}, Raw: []byte{1, 2, 3, 4}}), []string{`"cut"`, "4 bytes", "expected 8"}},
		"no data":           {tensor(&graph.Tensor{Name: "none", Type: graph.Int64, Dims: []int64{2}}), []string{`"none"`, "no data"}},
		"absurd batch":      {onnx(func(g *graph.Graph) { g.Inputs[0].Shape[0] = known(1 << 60) }), []string{"input_ids", "absurd"}},
		"absurd logits":     {output(value("logits", graph.Float32, batch, length, known(1<<60))), []string{"logits", "absurd"}},
		"narrow logits":     {output(value("logits", graph.Float32, batch, length, known(6))), []string{"ids reach 6", "6 wide"}},
		"integer logits":    {output(value("logits", graph.Int64, batch, length, known(7))), []string{`"logits" is int64`, "expected floats"}},
		"flat logits":       {output(value("logits", graph.Float32, batch, known(7))), []string{"expected [B, L, V]"}},
		"no logits":         {output(value("last_hidden_state", graph.Float32, batch, length, known(7))), []string{`no output "logits"`, "last_hidden_state"}},
		"no ids":            {onnx(func(g *graph.Graph) { g.Inputs[0].Name = "x" }), []string{`no input "input_ids"`, `"x"`}},
		"float ids":         {onnx(func(g *graph.Graph) { g.Inputs[0].Type = graph.Float32 }), []string{`"input_ids" is float32 [batch, length]`, "expected int64 [B, L]"}},
		"unknown input":     {newFixture().input(value("pixel_values", graph.Float32, batch)), []string{`"pixel_values"`, "cannot feed", "attention_mask"}},
		"sizes disagree":    {newFixture().input(value("attention_mask", graph.Int64, batch, known(4))).input(value("position_ids", graph.Int64, batch, known(5))), []string{"another input fixes that size"}},
		"time, no manifest": {newFixture().input(value("timesteps", graph.Float32, batch)), []string{"takes timesteps", "add one"}},
	})
}

// external is a tensor whose 16 bytes are in another file.
func external(location string, more ...graph.Entry) *graph.Tensor {
	return &graph.Tensor{Name: "far", Type: graph.Float32, Dims: []int64{4}, External: append([]graph.Entry{{Key: "location", Value: location}}, more...)}
}

func TestExternalData(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, make([]byte, 64), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tensor *graph.Tensor
		link   string // what onnx/link points at
		says   []string
	}{
		"beside":       {external("weights.bin", graph.Entry{Key: "offset", Value: "16"}, graph.Entry{Key: "length", Value: "16"}), "", nil},
		"inner link":   {external("link"), "weights.bin", nil},
		"parent":       {external("../config.json"), "", []string{`"../config.json" is outside`}},
		"hidden up":    {external("a/../../config.json"), "", []string{"is outside"}},
		"absolute":     {external(outside), "", []string{"is outside"}},
		"backslash":    {external(`..\config.json`), "", []string{"is outside"}},
		"nowhere":      {external(""), "", []string{"is outside"}},
		"link out":     {external("link"), outside, []string{"is a link to", "copy the file into the folder"}},
		"missing":      {external("gone.bin"), "", []string{`"gone.bin" is missing`, "model.onnx"}},
		"directory":    {external("sub"), "", []string{"no regular file"}},
		"too short":    {external("weights.bin", graph.Entry{Key: "offset", Value: "24"}), "", []string{"32 bytes long", "cut off"}},
		"bad offset":   {external("weights.bin", graph.Entry{Key: "offset", Value: "-1"}), "", []string{`offset "-1"`}},
		"huge offset":  {external("weights.bin", graph.Entry{Key: "offset", Value: "9223372036854775800"}), "", []string{"cut off"}},
		"other length": {external("weights.bin", graph.Entry{Key: "length", Value: "8"}), "", []string{"cut off"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture().with("onnx/weights.bin", strings.Repeat("\x00", 32))
			f.graph.Graph.Initializers = append(f.graph.Graph.Initializers, c.tensor)
			dir := f.write(t)
			if err := os.Mkdir(filepath.Join(dir, "onnx/sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			if c.link != "" {
				if err := os.Symlink(c.link, filepath.Join(dir, "onnx/link")); err != nil {
					t.Fatal(err)
				}
			}
			m, err := model.Open(dir)
			if c.says != nil {
				mustFail(t, err, append(c.says, `"far"`)...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			files, err := m.Files()
			if err != nil || len(files) != 4 {
				t.Errorf("Files() = %v, %v, want config, tokenizer, model and weights", files, err)
			}
		})
	}
}

func TestUnknownReference(t *testing.T) {
	_, err := model.Open("rxnmaper-albert")
	mustFail(t, err, `model "rxnmaper-albert"`, `did you mean "rxnmapper-albert"?`, "./rxnmaper-albert")
	_, err = model.Open("./nowhere")
	mustFail(t, err, "model ./nowhere: no such directory", model.Default)
	_, err = model.Open("refusal_test.go")
	mustFail(t, err, "is a file, expected the model directory")
	_, err = model.Open(newFixture().write(t), model.Precision("fp16"))
	mustFail(t, err, "has no onnx/model_fp16.onnx; there are onnx/model.onnx")
}
