package network_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/framework/network"
)

// mustSay checks that the error holds all the words.
func mustSay(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := network.Config{VocabSize: 27, HiddenSize: 768, Layers: 12, Heads: 12, MaxPositions: 256, Activation: "swiglu", Time: "adaln"}.Filled()
	want := network.Config{ModelType: "mdm-transformer", VocabSize: 27, HiddenSize: 768, Layers: 12, Heads: 12, Intermediate: 2048, MaxPositions: 256,
		Norm: "layer", Activation: "swiglu", Positions: "rope", RopeBase: 10000, Time: "adaln", TimeSize: 64, NormEps: 1e-5, HeadInit: "normal"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(got, got.Filled()); d != "" {
		t.Error("filled twice:", d)
	}
	if n := (network.Config{HiddenSize: 128}).Filled().Intermediate; n != 512 {
		t.Error(n)
	}
}

func TestSudokuTables(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 12, HiddenSize: 8, Layers: 1, Heads: 1, Positions: "sudoku"})
	if c.MaxPositions != 81 || len(c.PositionTables) != 3 {
		t.Fatalf("%+v", c)
	}
	for at, want := range map[int][3]int{0: {0, 0, 0}, 8: {0, 8, 2}, 40: {4, 4, 4}, 47: {5, 2, 3}, 80: {8, 8, 8}} {
		var got [3]int
		for i, table := range c.PositionTables {
			got[i] = table.Index[at]
		}
		if got != want {
			t.Errorf("position %d has row, column, box %v, want %v", at, got, want)
		}
	}
}

// YAML and JSON have the same keys, and both give the config back.
func TestConfigFiles(t *testing.T) {
	want := valid(t, network.Config{VocabSize: 12, HiddenSize: 8, Layers: 1, Heads: 1, Positions: "grid", Grid: &network.GridSpec{Rows: 4, Cols: 6, Box: []int{2, 3}},
		Time: "adaln", Bias: true, InitializerRange: 0.02})
	j, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML network.Config
	var keysJSON, keysYAML map[string]any
	for _, err := range []error{json.Unmarshal(j, &fromJSON), yaml.Unmarshal(y, &fromYAML), json.Unmarshal(j, &keysJSON), yaml.Unmarshal(y, &keysYAML)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, fromJSON) + cmp.Diff(want, fromYAML); d != "" {
		t.Error(d)
	}
	for k := range keysJSON {
		if _, ok := keysYAML[k]; !ok {
			t.Error(k, "is no key of YAML")
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	c := network.Config{ModelType: "bert", HiddenSize: 10, Layers: -1, Heads: 3, Norm: "batch", Activation: "tanh", Positions: "polar", Time: "clock",
		NormEps: 2, InitializerRange: -1, HeadInit: "ones", Grid: &network.GridSpec{Rows: 1, Cols: 1}}.Filled()
	mustSay(t, c.Validate(), `model_type: is "bert"`, "vocab_size: is 0", "num_hidden_layers: is -1", "num_attention_heads: 3 heads do not divide",
		`norm: is "batch", expected layer, rms`, `activation: is "tanh"`, `positions: is "polar"`, `time: is "clock"`, "layer_norm_eps: is 2",
		"initializer_range: is -1", `head_init: is "ones"`, `grid: is given, but positions is "polar"`)
	base := network.Config{VocabSize: 9, HiddenSize: 12, Layers: 1, Heads: 4, MaxPositions: 6}
	for want, change := range map[string]func(*network.Config){
		"a head is 3 wide, expected an even width": func(*network.Config) {},
		"max_position_embeddings: is 0":            func(c *network.Config) { c.MaxPositions = 0 },
		"rope_base: is 1":                          func(c *network.Config) { c.RopeBase = 1 },
		"time_embedding_size: is 5":                func(c *network.Config) { c.Time, c.TimeSize = "adaln", 5 },
		"position_tables: none, and no grid":       func(c *network.Config) { c.Positions = "grid" },
		"grid.rows: is 0, expected 1 to 4096":      func(c *network.Config) { c.Positions, c.Grid = "grid", &network.GridSpec{Cols: 3} },
		"grid.box: is [2 2], expected two numbers": func(c *network.Config) {
			c.Positions, c.Grid = "grid", &network.GridSpec{Rows: 2, Cols: 3, Box: []int{2, 2}}
		},
		"position_tables.0.index: has 4 entries, expected 6": func(c *network.Config) { c.Positions, c.Grid = "grid", &network.GridSpec{Rows: 2, Cols: 2} },
		"position_tables.0.index.1: is 7, expected 0 to 1": func(c *network.Config) {
			c.Positions, c.PositionTables = "grid", []network.PositionTable{{Name: "x", Size: 2, Index: []int{0, 7, 0, 0, 0, 9}}}
		},
		`position_tables.1.name: is "x"`: func(c *network.Config) {
			x := network.PositionTable{Name: "x", Size: 1, Index: make([]int, 6)}
			c.Positions, c.PositionTables = "grid", []network.PositionTable{x, x}
		},
	} {
		c := base
		change(&c)
		mustSay(t, c.Filled().Validate(), want)
	}
}

// What goes together, and what does not, is told at once.
func TestProblemsOfPretrained(t *testing.T) {
	base := network.Config{VocabSize: 9, HiddenSize: 16, Layers: 3, Heads: 4, MaxPositions: 6}.Filled()
	for _, c := range []struct {
		change func(*network.Config)
		want   []string
	}{
		{func(c *network.Config) {
			c.EmbeddingSize, c.TypeVocab, c.Groups, c.KeyValueHeads, c.HeadDim, c.LocalAttention, c.GlobalEvery = -1, -2, -3, -4, -5, -6, -7
		}, []string{"embedding_size: is -1", "type_vocab_size: is -2", "num_hidden_groups: is -3", "num_key_value_heads: is -4", "head_dim: is -5",
			"local_attention: is -6", "global_attn_every_n_layers: is -7"}},
		{func(c *network.Config) {
			c.Time, c.TimeSize, c.PostNorm, c.SkipFirstNorm, c.EmbeddingNorm, c.HeadTransform = "adaln", 8, true, true, true, true
		}, []string{"post_norm: is true, and the norms of time adaln", "skip_first_norm: is true, and the norms of", "embedding_norm: is true, and the norms of",
			"head_transform: is true, and the norms of", "skip_first_norm: is true, and with post_norm"}},
		{func(c *network.Config) { c.SkipFirstNorm, c.Groups = true, 4 }, []string{"skip_first_norm: is true, and with num_hidden_groups", "num_hidden_groups: is 4, expected at most the 3 layers"}},
		{func(c *network.Config) { c.KeyValueHeads, c.Bias, c.QKVBias = 3, true, true }, []string{"num_key_value_heads: 3 heads of keys do not divide the 4", "qkv_bias: is true, and so is bias"}},
		{func(c *network.Config) { c.GlobalEvery, c.LocalRopeBase = 3, 100 }, []string{"global_attn_every_n_layers: is 3, and without local_attention", "local_rope_base: is 100, and without"}},
		{func(c *network.Config) { c.LocalAttention, c.LocalRopeBase = 4, 0.5 }, []string{"global_attn_every_n_layers: is missing", "local_rope_base: is 0.5, expected a number above 1"}},
		{func(c *network.Config) {
			c.LocalAttention, c.GlobalEvery, c.Positions, c.LocalRopeBase = 4, 2, "none", 9
		}, []string{`local_attention: is 4, and positions is "none"`, `local_rope_base: is 9, and positions is "none"`}},
		{func(c *network.Config) { c.Head, c.HeadTransform, c.HeadBias, c.LogitsShift = "keep", true, true, true }, []string{"head_transform: is true, and head keep", "head_bias: is true, and head keep", "logits_shift: is true, and head keep"}},
		{func(c *network.Config) { c.Gaps, c.LogitsShift = "eos", true }, []string{"logits_shift: is true, and the rates of an insertion model"}},
		{func(c *network.Config) { c.Tied, c.HeadInit, c.EmbeddingSize = true, "", 8 }, []string{"tie_word_embeddings: is true, and the embeddings are 8 wide, the hidden state 16"}},
		{func(c *network.Config) { c.Heads, c.HeadDim = 1<<20, 32 }, []string{"head_dim: is 32, and 1048576 heads are 33554432 wide together"}},
		{func(c *network.Config) { c.HeadDim = 3 }, []string{"a head is 3 wide, expected an even width"}},
	} {
		changed := base
		c.change(&changed)
		err := changed.Validate()
		mustSay(t, err, c.want...)
		if err != nil && len(strings.Split(err.Error(), "\n")) != len(c.want) {
			t.Errorf("%d problems, want %d: %v", len(strings.Split(err.Error(), "\n")), len(c.want), err)
		}
	}
	odd := base
	odd.Heads, odd.HeadDim, odd.KeyValueHeads = 3, 4, 1 // three heads of 4 in a stream of 16
	if err := odd.Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"model_type":"mdm-transformer","vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,"max_position_embeddings":4}`))
	f.Add([]byte(`{"model_type":"mdm-transformer","vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1,"positions":"sudoku","tie_word_embeddings":true}`))
	f.Add([]byte(`{"model_type":"mdm-transformer","vocab_size":9,"hidden_size":8,"num_hidden_layers":4,"num_attention_heads":4,"max_position_embeddings":4,"post_norm":true,
		"embedding_norm":true,"embedding_size":6,"type_vocab_size":2,"num_hidden_groups":2,"num_key_value_heads":2,"head_dim":4,"qkv_bias":true,"activation":"geglu_tanh",
		"local_attention":4,"global_attn_every_n_layers":3,"local_rope_base":10,"head_transform":true,"head_bias":true,"logits_shift":true}`))
	f.Add([]byte(`{"positions":"grid","grid":{"rows":-1,"cols":99999999,"box":[0]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := network.ParseConfig("config.json", data)
		if err != nil || c.Layers > 100 || c.HiddenSize > 1<<12 || c.VocabSize > 1<<12 {
			return
		}
		if n := network.ParamCount(c); n < 1 {
			t.Errorf("%d parameters", n)
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		other, err := network.ParseConfig("config.json", again)
		if d := cmp.Diff(c, other); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}
