package certainty

// Largest is the option confidence of planners that take the largest probability unless the user says otherwise, as
// Fast-dLLM does. Planners embed it, or [Drawn]; its values are names for [New].
type Largest struct {
	Confidence string `option:"confidence" default:"max" enum:"max,drawn" help:"max: the largest probability; drawn: the probability of the drawn token (equal at temperature 0)"`
}

// Drawn is the option confidence of planners that take the probability of the drawn token, as the samplers of LLaDA, Dream
// and WINO do.
type Drawn struct {
	Confidence string `option:"confidence" default:"drawn" enum:"drawn,max" help:"drawn: the probability of the drawn token; max: the largest probability (equal at temperature 0)"`
}

// Distribution is the option on, the distribution for [New], of planners whose measures are max and drawn.
type Distribution struct {
	On string `option:"on" default:"model" enum:"model,tempered,sampling" help:"distribution of the confidence: model = before temperature (LLaDA); tempered = after it (SGLang); sampling = after temperature, top_k, top_p and min_p (Dream). The latter two saturate at temperatures of 0.2 and less, where all probabilities are 1 and tell no position from another; at temperature 0 they are the model's"`
}
