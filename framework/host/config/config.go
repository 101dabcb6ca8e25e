// Package config turns defaults, the model's own settings, a file, the environment and flags, in this order of growing
// strength, into one [Config]. Every value keeps its [Origin]; every problem of all sources is found in one go.
//
// Keys are dotted in files, flags and messages ("planner.gamma"); in the environment the dot is a double underscore
// (MDMHOST_PLANNER__GAMMA). The keys below planner, sampler and trainer that the host does not know belong to the plugin and are
// checked by [ValidateOptions] once it has described itself.
package config

import "github.com/mdmhost/mdmhost/framework/training/data"

// Config is everything that a command may be told. The zero value of a field means what its key says in [Keys].
type Config struct {
	Model    string   `koanf:"model"`
	Runtime  Runtime  `koanf:"runtime"`
	Planner  Planner  `koanf:"planner"`
	Sampler  Part     `koanf:"sampler"`
	Plugins  Plugins  `koanf:"plugins"`
	Sampling Sampling `koanf:"sampling"`

	Num    int     `koanf:"num"`
	Batch  int     `koanf:"batch"`
	Steps  int     `koanf:"steps"`
	Length int     `koanf:"length"`
	Seed   *uint64 `koanf:"seed"` // nil until drawn

	Prompt  string `koanf:"prompt"`
	Infill  string `koanf:"infill"`
	Prompts string `koanf:"prompts"`

	Format    string `koanf:"format"`
	Details   bool   `koanf:"details"`
	Out       string `koanf:"out"`
	Shard     string `koanf:"shard"` // as package shard reads it
	Overwrite bool   `koanf:"overwrite"`
	Trace     string `koanf:"trace"`
	Record    bool   `koanf:"record"`
	Watch     bool   `koanf:"watch"`

	Trainer   Part      `koanf:"trainer"`
	Network   Network   `koanf:"network"`
	Order     Order     `koanf:"order"`
	Data      data.Spec `koanf:"data"`
	Optimizer Optimizer `koanf:"optimizer"`
	Train     Train     `koanf:"train"`

	Export Export `koanf:"export"`
	Serve  Serve  `koanf:"serve"`
	Hub    Hub    `koanf:"hub"`

	merged  map[string]any // by dotted key
	layers  [][]setting
	origins map[string]Origin
	left    []Entry
}

// Runtime chooses where the denoiser runs. Which of its settings a kind of runtime reads, package config checks.
type Runtime struct {
	Kind            string            `koanf:"kind"`
	Provider        string            `koanf:"provider"`
	Threads         int               `koanf:"threads"`
	Streams         string            `koanf:"streams"`
	Device          []int             `koanf:"device"`
	Library         string            `koanf:"library"`
	LibraryDirs     []string          `koanf:"library_dirs"`
	Head            string            `koanf:"head"`
	Optimize        string            `koanf:"optimize"`
	Arena           bool              `koanf:"arena"`
	Warmup          bool              `koanf:"warmup"`
	Precision       string            `koanf:"precision"`
	CUDAGraph       bool              `koanf:"cuda_graph"`
	ProviderLibrary string            `koanf:"provider_library"`
	ProviderOptions map[string]string `koanf:"provider_options"`
	SessionConfig   map[string]string `koanf:"session_config"`

	Endpoints    []string          `koanf:"endpoints"`
	Model        string            `koanf:"model"`
	ModelVersion string            `koanf:"model_version"`
	Timeout      float64           `koanf:"timeout"` // seconds
	Retries      int               `koanf:"retries"`
	TLSCA        string            `koanf:"tls_ca"`
	TLSCert      string            `koanf:"tls_cert"`
	TLSKey       string            `koanf:"tls_key"`
	TLSName      string            `koanf:"tls_name"`
	Headers      map[string]string `koanf:"headers"`

	Recording string `koanf:"recording"`
}

// Export says what a model is exported for, and how that is verified.
type Export struct {
	To        string  `koanf:"to"`
	Precision string  `koanf:"precision"`
	Head      string  `koanf:"head"`
	Rows      int     `koanf:"rows"`
	Length    int     `koanf:"length"`
	Verify    string  `koanf:"verify"`
	Python    string  `koanf:"python"`
	Browser   string  `koanf:"browser"`
	Timeout   float64 `koanf:"timeout"` // seconds
}

// Serve says what a server serves, and to whom.
type Serve struct {
	Listen       string   `koanf:"listen"`
	Models       []string `koanf:"models"`
	Planners     []string `koanf:"planners"`
	Samplers     []string `koanf:"samplers"`
	Batching     bool     `koanf:"batching"`
	Lanes        int      `koanf:"lanes"`
	Queue        int      `koanf:"queue"`
	MaxRows      int      `koanf:"max_rows"`
	MaxPositions int      `koanf:"max_positions"`
	MaxBody      int      `koanf:"max_body"`
	Timeout      float64  `koanf:"timeout"` // seconds
	Drain        float64  `koanf:"drain"`   // seconds
	Connections  int      `koanf:"connections"`
	Tokens       string   `koanf:"tokens"`
	Origins      []string `koanf:"origins"`
	Watch        bool     `koanf:"watch"`
	Page         bool     `koanf:"page"`
	OTLP         string   `koanf:"otlp"`
}

// Hub says where models are pulled from, and how patiently.
type Hub struct {
	Endpoint    string  `koanf:"endpoint"`
	Connections int     `koanf:"connections"`
	Retries     int     `koanf:"retries"`
	Timeout     float64 `koanf:"timeout"` // seconds of silence
}

// Part is a plugin's name and its options. An option that came as text (from the environment or a flag) is a [Text].
type Part struct {
	Name    string         `koanf:"name"`
	Options map[string]any `koanf:",remain"`
}

// Planner is the planner and the network of its own that it may have.
type Planner struct {
	Part    `koanf:",squash"`
	Network string `koanf:"network"` // embedded model or directory; "": none
}

// Plugins says where plugins are found, what their processes may see and take, in seconds and bytes, and what is shown of their logs.
type Plugins struct {
	StartTimeout float64 `koanf:"start_timeout"` // from launch to the first word
	CallTimeout  float64 `koanf:"call_timeout"`  // for one answer
	Log          string  `koanf:"log"`           // the least level that is shown of what plugins log

	Path      string   `koanf:"path"`       // folders of plugins, separated as in PATH
	Env       []string `koanf:"env"`        // variables that are let through
	MTLS      bool     `koanf:"mtls"`       // certificates on both sides
	Memory    int      `koanf:"memory"`     // MiB; 0: no limit
	OpenFiles int      `koanf:"open_files"` // 0: the system's limit
	Reattach  string   `koanf:"reattach"`   // of processes that run already
}

// Sampling says how tokens are drawn.
type Sampling struct {
	Temperature    float64 `koanf:"temperature"`
	TopK           int     `koanf:"top_k"`
	TopP           float64 `koanf:"top_p"`
	MinP           float64 `koanf:"min_p"`
	SuppressTokens []int32 `koanf:"suppress_tokens"`
	Draw           string  `koanf:"draw"`
	TopPRule       string  `koanf:"top_p_rule"`

	CFGScale      float64 `koanf:"cfg_scale"`
	CFGKeepTokens []int32 `koanf:"cfg_keep_tokens"`

	RepetitionPenalty   float64 `koanf:"repetition_penalty"`
	PenaltyLambda       float64 `koanf:"penalty_lambda"`
	EOSPenalty          float64 `koanf:"eos_penalty"`
	LogitsEOSInf        bool    `koanf:"logits_eos_inf"`
	ConfidenceEOSEOTInf bool    `koanf:"confidence_eos_eot_inf"`
	BeginSuppressTokens []int32 `koanf:"begin_suppress_tokens"`
	CreditAlpha         float64 `koanf:"credit_alpha"`
	CreditGamma         float64 `koanf:"credit_gamma"`
	CreditBeta          float64 `koanf:"credit_beta"`

	BlockLength int    `koanf:"block_length"`
	BlockAlign  string `koanf:"block_align"`

	Stop         []string `koanf:"stop"`
	EOSEarlyStop bool     `koanf:"eos_early_stop"`
	StopAt       string   `koanf:"stop_at"`
	MaxNFE       int      `koanf:"max_nfe"`
	PadTo        int      `koanf:"pad_to"`
}

// Stops tells whether rows may end before all of them is written.
func (s *Sampling) Stops() bool { return len(s.Stop) > 0 || s.EOSEarlyStop }

// CompletesStopped tells whether rows that a stop rule ends are completed first, and cut then.
func (s *Sampling) CompletesStopped() bool { return s.Stops() && s.StopAt == "end" }

// Origin returns where the value of a key came from.
func (c *Config) Origin(key string) Origin { return c.origins[key] }

// Given tells whether somebody set the key: it is not a default.
func (c *Config) Given(key string) bool {
	o, ok := c.origins[key]
	return ok && o.Layer != LayerDefault
}
