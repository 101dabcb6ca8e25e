// Package network holds the framework's denoisers: bidirectional transformers over tokens, as MD4 describes them (Shi et al.
// 2024, "Simplified and Generalized Masked Diffusion for Discrete Data", appendix), written with the graph builder. The same
// network with another head judges tokens: a planner. One [Config] sizes a network; [Params], [Initialise], [Build] and [Export] follow from it, and a model directory holds it.
//
//	cfg := network.Config{VocabSize: 29, HiddenSize: 128, Layers: 6, Heads: 4, MaxPositions: 256}.Filled()
//	err := cfg.Validate()
//	values := network.Initialise(cfg, 1)
//	model, err := network.Export(cfg, values, network.ExportOptions{})
package network

import (
	"math"
	"slices"
)

// ModelType is the model_type of config.json.
const ModelType = "mdm-transformer"

// The choices of a [Config].
const (
	NormLayer = "layer" // LayerNormalization (Ba et al. 2016)
	NormRMS   = "rms"   // RMSNorm (Zhang and Sennrich 2019)

	GELU      = "gelu"       // exact, with the error function
	GELUTanh  = "gelu_tanh"  // its approximation with tanh
	GeGLU     = "geglu"      // gelu(x Wg) * (x Wu) (Shazeer 2020)
	GeGLUTanh = "geglu_tanh" // with gelu_tanh
	SwiGLU    = "swiglu"     // silu(x Wg) * (x Wu)
	SiLU      = "silu"
	ReLU      = "relu"
	ReLU2     = "relu2" // the square of ReLU (So et al. 2021)

	RoPE        = "rope"    // rotary, the two halves of a head paired as in Hugging Face's models (Su et al. 2021)
	Learned     = "learned" // an embedding for each position
	Grid        = "grid"    // the sum of an embedding for each row, column and box, or of any tables
	Sudoku      = "sudoku"  // Grid of 9 rows, 9 columns and boxes of 3 by 3
	NoPositions = "none"

	NoTime = "none"
	AdaLN  = "adaln" // time modulates every block: adaLN-zero (Peebles and Xie 2023)

	HeadTokens = ""      // logits [B, L, V]: a denoiser
	HeadKeep   = "keep"  // keep [B, L]: the log-odds that a position's token is right, a planner (P2: path planning for masked diffusion)
	HeadOrder  = "order" // order [B, L, 2]: raw scores of each position's insertion and unmasking speed, an order network (methods/loflexmdm.md, section 4.6)

	NoGaps  = ""    // rows keep their length
	GapsEOS = "eos" // insertion_rate [B, L+1]: gap i lies before position i; the row ends with a fixed token, and the gap behind it is 0 (FlexMDM)
)

// Config sizes a denoiser. The JSON keys are those of config.json, Hugging Face's names where it has them; the YAML keys are
// the same. Zero values take the defaults that [Config.Filled] sets.
type Config struct {
	ModelType    string `json:"model_type" yaml:"model_type"`                                               // "mdm-transformer"
	VocabSize    int    `json:"vocab_size" yaml:"vocab_size"`                                               // V: rows of the embedding, width of the logits
	HiddenSize   int    `json:"hidden_size" yaml:"hidden_size"`                                             // d
	Layers       int    `json:"num_hidden_layers" yaml:"num_hidden_layers"`                                 //
	Heads        int    `json:"num_attention_heads" yaml:"num_attention_heads"`                             // d / heads is the width of one; even for rope
	Intermediate int    `json:"intermediate_size,omitempty" yaml:"intermediate_size,omitempty"`             // 4 d; with a gate 8 d / 3, rounded up to a multiple of 32
	MaxPositions int    `json:"max_position_embeddings,omitempty" yaml:"max_position_embeddings,omitempty"` // longest row; a grid gives it

	Norm           string          `json:"norm" yaml:"norm"`                                           // "layer" or "rms"
	Activation     string          `json:"activation" yaml:"activation"`                               // "gelu", "gelu_tanh", "geglu", "geglu_tanh", "swiglu", "silu", "relu" or "relu2"
	Positions      string          `json:"positions" yaml:"positions"`                                 // "rope", "learned", "grid", "sudoku" or "none"
	RopeBase       float64         `json:"rope_base,omitempty" yaml:"rope_base,omitempty"`             // 10000
	Grid           *GridSpec       `json:"grid,omitempty" yaml:"grid,omitempty"`                       // for "grid": makes PositionTables
	PositionTables []PositionTable `json:"position_tables,omitempty" yaml:"position_tables,omitempty"` // for "grid": any other layout

	Bias     bool   `json:"bias" yaml:"bias"`                                                   // of linear layers and of layer norms; the head has none
	Tied     bool   `json:"tie_word_embeddings" yaml:"tie_word_embeddings"`                     // the head is the embedding
	Time     string `json:"time" yaml:"time"`                                                   // "none" or "adaln"
	TimeSize int    `json:"time_embedding_size,omitempty" yaml:"time_embedding_size,omitempty"` // 64, even

	// What pretrained networks have and the framework's own do not; zero values mean what the comments above say. See knobs.go.
	PostNorm       bool    `json:"post_norm,omitempty" yaml:"post_norm,omitempty"`                                   // x = norm(x + f(x)), and no norm before the head: BERT
	SkipFirstNorm  bool    `json:"skip_first_norm,omitempty" yaml:"skip_first_norm,omitempty"`                       // layer 0 has no norm before its attention: ModernBERT
	EmbeddingNorm  bool    `json:"embedding_norm,omitempty" yaml:"embedding_norm,omitempty"`                         // of the sum of the embeddings
	EmbeddingSize  int     `json:"embedding_size,omitempty" yaml:"embedding_size,omitempty"`                         // E: width of all embeddings, which a linear layer brings to d (ALBERT); 0: d, without that layer
	TypeVocab      int     `json:"type_vocab_size,omitempty" yaml:"type_vocab_size,omitempty"`                       // rows of an embedding whose row 0 is added everywhere
	Groups         int     `json:"num_hidden_groups,omitempty" yaml:"num_hidden_groups,omitempty"`                   // sets of parameters for the layers: layer i has those of i * groups / layers; 0: each its own
	KeyValueHeads  int     `json:"num_key_value_heads,omitempty" yaml:"num_key_value_heads,omitempty"`               // heads of keys and values, each for heads / these of the queries (Ainslie et al. 2023); 0: one for each
	HeadDim        int     `json:"head_dim,omitempty" yaml:"head_dim,omitempty"`                                     // width of a head; 0: d / heads
	QKVBias        bool    `json:"qkv_bias,omitempty" yaml:"qkv_bias,omitempty"`                                     // q, k and v have biases although bias is false
	LocalAttention int     `json:"local_attention,omitempty" yaml:"local_attention,omitempty"`                       // positions more than half of it apart do not see each other in local layers; 0: no layer is local
	GlobalEvery    int     `json:"global_attn_every_n_layers,omitempty" yaml:"global_attn_every_n_layers,omitempty"` // layer i is local unless i is a multiple of it
	LocalRopeBase  float64 `json:"local_rope_base,omitempty" yaml:"local_rope_base,omitempty"`                       // rope_base of local layers; 0: the same
	HeadTransform  bool    `json:"head_transform,omitempty" yaml:"head_transform,omitempty"`                         // linear layer, activation and norm before the logits, E wide
	HeadBias       bool    `json:"head_bias,omitempty" yaml:"head_bias,omitempty"`                                   // of the logits
	LogitsShift    bool    `json:"logits_shift,omitempty" yaml:"logits_shift,omitempty"`                             // position i is given what the head makes of position i-1, position 0 its own: Dream

	Head        string `json:"head,omitempty" yaml:"head,omitempty"`                 // "": logits of tokens; "keep": one number a position; "order": two
	MaskedInput bool   `json:"masked_input,omitempty" yaml:"masked_input,omitempty"` // takes masked [B, L], 1 where the token stands for a mask
	Gaps        string `json:"gaps,omitempty" yaml:"gaps,omitempty"`                 // "eos": an insertion model, which rates gaps beside its logits; "": a masked one
	UnmaskRate  bool   `json:"unmask_rate,omitempty" yaml:"unmask_rate,omitempty"`   // with gaps: it gives unmask_rate [B, L], too

	NormEps          float64 `json:"layer_norm_eps" yaml:"layer_norm_eps"`                           // 1e-5, for both norms
	InitializerRange float64 `json:"initializer_range,omitempty" yaml:"initializer_range,omitempty"` // standard deviation of all weights; 0: see Params
	HeadInit         string  `json:"head_init,omitempty" yaml:"head_init,omitempty"`                 // "normal", or "zeros" as MD4 (the first loss is ln V); untied only
}

// GridSpec is a rectangle of cells, row by row.
type GridSpec struct {
	Rows int   `json:"rows" yaml:"rows"`
	Cols int   `json:"cols" yaml:"cols"`
	Box  []int `json:"box,omitempty" yaml:"box,omitempty,flow"` // rows and columns of a box, such as [3, 3]; none: no boxes
}

// PositionTable is an embedding of positions: position i of a row gets entry Index[i].
type PositionTable struct {
	Name  string `json:"name" yaml:"name"`
	Size  int    `json:"size" yaml:"size"`
	Index []int  `json:"index" yaml:"index,flow"` // [max_position_embeddings]
}

// Filled is the config with its defaults in the place of zero values, and a grid written out as tables.
func (c Config) Filled() Config {
	fill(&c.ModelType, ModelType)
	fill(&c.Norm, NormLayer)
	fill(&c.Activation, GELU)
	fill(&c.Positions, RoPE)
	fill(&c.Time, NoTime)
	fill(&c.NormEps, 1e-5)
	if c.Intermediate == 0 {
		if c.Intermediate = 4 * c.HiddenSize; c.Gated() {
			c.Intermediate = (8*c.HiddenSize/3 + 31) / 32 * 32
		}
	}
	if c.Positions == RoPE {
		fill(&c.RopeBase, 10000)
	}
	if c.Time == AdaLN {
		fill(&c.TimeSize, 64)
	}
	if !c.Tied {
		fill(&c.HeadInit, "normal")
	}
	if c.Positions == Sudoku && c.Grid == nil && c.PositionTables == nil {
		c.Grid = &GridSpec{Rows: 9, Cols: 9, Box: []int{3, 3}}
	}
	if c.Grid != nil && c.PositionTables == nil && c.Grid.problems() == nil {
		c.PositionTables = c.Grid.tables()
	}
	if c.MaxPositions == 0 && len(c.PositionTables) > 0 {
		c.MaxPositions = len(c.PositionTables[0].Index)
	}
	return c
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Timed tells whether the network takes timesteps.
func (c Config) Timed() bool { return c.Time == AdaLN }

// placed tells whether the network takes position_ids.
func (c Config) placed() bool { return c.Positions != NoPositions }

// Judges tells whether the network rates the tokens that it is given, instead of proposing others.
func (c Config) Judges() bool { return c.Head == HeadKeep }

// tabled tells whether positions are a sum of tables.
func (c Config) tabled() bool { return c.Positions == Grid || c.Positions == Sudoku }

// timeFrequencies are those of the sinusoidal embedding: 10^4 to the power -k/(n-1) for n of them (MD4's code; n = 32).
func timeFrequencies(n int) []float32 {
	out := make([]float32, n)
	for k := range out {
		out[k] = float32(math.Exp(-math.Log(1e4) * float64(k) / float64(max(n-1, 1))))
	}
	return out
}

// tables are the rows, the columns and the boxes of the grid.
func (g *GridSpec) tables() []PositionTable {
	row := PositionTable{Name: "row", Size: g.Rows}
	column := PositionTable{Name: "column", Size: g.Cols}
	box := PositionTable{Name: "box"}
	for r := range g.Rows {
		for c := range g.Cols {
			row.Index = append(row.Index, r)
			column.Index = append(column.Index, c)
			if g.Box != nil {
				across := g.Cols / g.Box[1]
				box.Size = g.Rows / g.Box[0] * across
				box.Index = append(box.Index, r/g.Box[0]*across+c/g.Box[1])
			}
		}
	}
	return slices.DeleteFunc([]PositionTable{row, column, box}, func(t PositionTable) bool { return t.Size == 0 })
}
