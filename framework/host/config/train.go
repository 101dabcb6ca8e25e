package config

// Network sizes a new denoiser; the keys are those of its config.json.
type Network struct {
	HiddenSize   int    `koanf:"hidden_size"`
	Layers       int    `koanf:"num_hidden_layers"`
	Heads        int    `koanf:"num_attention_heads"`
	Intermediate int    `koanf:"intermediate_size"` // 0: 4 times the hidden size
	Norm         string `koanf:"norm"`
	Activation   string `koanf:"activation"`
	Positions    string `koanf:"positions"`
	Rows         int    `koanf:"rows"`    // of a grid
	Columns      int    `koanf:"columns"` // of a grid
	Bias         bool   `koanf:"bias"`
	Tied         bool   `koanf:"tie_word_embeddings"`
	Time         string `koanf:"time"`
	Gaps         string `koanf:"gaps"`
	UnmaskRate   bool   `koanf:"unmask_rate"`
}

// Order sizes a new order network (trainer loflexmdm) that is not the denoiser's own; what is 0 is the denoiser's.
type Order struct {
	HiddenSize   int `koanf:"hidden_size"`
	Layers       int `koanf:"num_hidden_layers"`
	Heads        int `koanf:"num_attention_heads"`
	Intermediate int `koanf:"intermediate_size"`
}

// Optimizer is AdamW in PyTorch's form, with its schedule.
type Optimizer struct {
	LR          float64 `koanf:"lr"`
	Schedule    string  `koanf:"schedule"`
	Warmup      int64   `koanf:"warmup"`
	MinLR       float64 `koanf:"min_lr"` // share of LR at the end
	WeightDecay float64 `koanf:"weight_decay"`
	Beta1       float64 `koanf:"beta1"`
	Beta2       float64 `koanf:"beta2"`
	Epsilon     float64 `koanf:"epsilon"`
	Clip        float64 `koanf:"clip"` // largest norm of the gradient; 0: no clipping
	EMA         float64 `koanf:"ema"`  // decay of the moving average; 0: none
}

// Train says how long and how a run goes on.
type Train struct {
	Run             string  `koanf:"run"`  // directory
	From            string  `koanf:"from"` // model directory whose parameters the run begins with
	PlannerFrom     string  `koanf:"planner_from"`
	Name            string  `koanf:"name"` // of the finished model
	Steps           int64   `koanf:"steps"`
	Minutes         float64 `koanf:"minutes"` // of this session; 0: no bound
	Batch           int     `koanf:"batch"`
	Accumulate      int     `koanf:"accumulate"`
	EvalEvery       int64   `koanf:"eval_every"`
	EvalRows        int     `koanf:"eval_rows"`
	Patience        int     `koanf:"patience"`
	CheckpointEvery int64   `koanf:"checkpoint_every"`
	Keep            int     `koanf:"keep"`
	LogEvery        int64   `koanf:"log_every"`
	Precision       string  `koanf:"precision"` // of the finished model's weights
	Kernels         bool    `koanf:"kernels"`
	Recompute       bool    `koanf:"recompute"`
}
