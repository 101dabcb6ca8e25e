package config

import (
	"regexp"
	"slices"
	"strings"
)

// Key describes one setting: the single place for its type, default, bounds and help.
type Key struct {
	Name    string // dotted
	Kind    Kind
	Default any      // nil: no value until given
	Enum    []string // texts that are allowed, or nil
	Min     *float64
	Max     *float64
	Above   bool                // Min itself is not allowed
	Below   bool                // Max itself is not allowed
	Each    *regexp.Regexp      // of a list of texts: what each entry must fit, or nil
	EachIs  string              // what Each stands for, as messages say it
	Entries []string            // what a list of such texts holds in examples; nil: names of variables
	Hide    func(string) string // a text without the credentials in it, as people and logs may see it; nil: it has none
	Help    string
}

// variable is the name of an environment variable, as in the manifests of plugins, or NAME=value.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$`)

// endpoint is the address of a server of the Open Inference Protocol. It holds no credentials: errors and clients are told it.
var endpoint = regexp.MustCompile(`^(grpc|grpcs|http|https)://[^/\s@?#]+(/[^\s?#]*)?$`)

func at(v float64) *float64 { return &v }

// Keys lists every setting that the host knows, in the order of `config print`.
var Keys = slices.Concat(modelKeys, runtimeKeys, samplingKeys, trainingKeys, exportKeys, serveKeys, hubKeys)

// modelKeys choose the model.
var modelKeys = []Key{
	{Name: "model", Kind: String, Default: "", Help: "embedded model, or the directory of one (empty: the embedded default)"},
}

// samplingKeys are those of plugins and sampling.
var samplingKeys = []Key{
	{Name: "planner.name", Kind: String, Default: "confidence", Help: "planner: the name of an installed one or the path of a binary"},
	{Name: "planner.network", Kind: String, Help: "embedded model, or the directory of a planner network or a masked language model, that scores the proposals for planners that ask for it (p2 with bert or trained)"},
	{Name: "sampler.name", Kind: String, Default: "masked", Help: "sampler: the name of an installed one or the path of a binary"},
	{Name: "plugins.start_timeout", Kind: Float, Default: 10.0, Min: at(0), Above: true, Max: at(3600), Help: "seconds that a plugin may take to start"},
	{Name: "plugins.call_timeout", Kind: Float, Default: 30.0, Min: at(0), Above: true, Max: at(86400), Help: "seconds that a plugin may take for one answer"},
	{Name: "plugins.log", Kind: String, Default: "warn", Enum: []string{"off", "error", "warn", "info", "debug"}, Help: "least level shown of what plugins log, and of what the host says of them; debug shows what they print, too (MDMHOST_LOG)"},
	{Name: "plugins.path", Kind: String, Default: "", Help: "folders in which plugins are looked for by their names, after those in this program and before the project's .mdmhost/plugins and the user's, separated as in PATH (MDMHOST_PLUGIN_PATH)"},
	{Name: "plugins.env", Kind: Texts, Default: []any{}, Hide: hideVariable, Each: variable, EachIs: "names of environment variables, or NAME=value", Help: "environment variables that plugins may see, by their names, or set for them, as NAME=value; they see no others. On the command line as FOO:HOME, or as a JSON list, such as [\"FOO\",\"NAME=a:b\"]"},
	{Name: "plugins.mtls", Kind: Bool, Default: false, Help: "let host and plugin prove to each other who they are, by certificates made for the process (mutual TLS)"},
	{Name: "plugins.memory", Kind: Int, Default: 0, Min: at(0), Help: "MiB of memory that a plugin's process may take, on Linux; one in Go needs some 128 to start, one in Python more (0: no limit)"},
	{Name: "plugins.open_files", Kind: Int, Default: 0, Min: at(0), Help: "files that a plugin's process may have open, on Linux; it needs some 24 (0: the system's own limit)"},
	{Name: "plugins.reattach", Kind: String, Default: "", Help: "plugins that run already, in a debugger: the line that they printed when they were started with --debug (MDMHOST_REATTACH)"},
	{Name: "sampling.temperature", Kind: Float, Default: 1.0, Min: at(0), Help: "temperature of the draw (0: the most probable token)"},
	{Name: "sampling.top_k", Kind: Int, Default: 0, Min: at(0), Help: "draw from the k most probable tokens (0: all)"},
	{Name: "sampling.top_p", Kind: Float, Default: 1.0, Min: at(0), Above: true, Max: at(1), Help: "draw from the smallest set of tokens with this probability (1: all)"},
	{Name: "sampling.min_p", Kind: Float, Default: 0.0, Min: at(0), Max: at(1), Below: true, Help: "drop tokens below this share of the largest probability (0: none)"},
	{Name: "sampling.suppress_tokens", Kind: Ints, Default: []any{}, Min: at(0), Help: "token ids that are never drawn, besides the mask"},
	{Name: "sampling.draw", Kind: String, Default: "inverse_cdf", Enum: []string{"inverse_cdf", "gumbel"}, Help: "how a token is drawn"},
	{Name: "sampling.top_p_rule", Kind: String, Default: "cross", Enum: []string{"cross", "below"}, Help: "cross: the token that crosses top_p stays (Hugging Face, Dream, LLaDA2); below: it goes, but for the first (MDLM, ReMDM)"},
	{Name: "sampling.cfg_scale", Kind: Float, Default: 0.0, Min: at(0), Help: "w of classifier-free guidance: logits un + (w+1) (cond - un), where un does not see the prompt (LLaDA); MaskGIT's (1+w) cond - w un is the same. Before suppression, at two forward passes a step; without a prompt it changes nothing (0: off)"},
	{Name: "sampling.cfg_keep_tokens", Kind: Ints, Default: []any{}, Min: at(0), Help: "token ids of the prompt that the pass without it sees all the same; special tokens of the tokenizer always stay"},
	{Name: "sampling.repetition_penalty", Kind: Float, Default: 1.0, Min: at(0), Above: true, Help: "over tokens written anywhere in the row: their positive logits are divided by it, negative ones multiplied (1: none)"},
	{Name: "sampling.penalty_lambda", Kind: Float, Default: 0.0, Min: at(0), Help: "subtracted from the logit of the token that stands at the position before (JointThreshold; 0: none)"},
	{Name: "sampling.eos_penalty", Kind: Float, Default: 0.0, Min: at(0), Help: "subtracted from the logits of the end-of-text and padding tokens (Dream-Coder; 0: none)"},
	{Name: "sampling.logits_eos_inf", Kind: Bool, Default: false, Help: "never write the end-of-text token: its logit is -inf before the draw (LLaDA)"},
	{Name: "sampling.confidence_eos_eot_inf", Kind: Bool, Default: false, Help: "end-of-text and end-of-turn tokens (eos_token_id, eot_token_id of the model) may be drawn, but open last: their confidence is -inf. Both ids and the confidence alone; in LLaDA's code only one of them is penalised at temperatures above 0"},
	{Name: "sampling.begin_suppress_tokens", Kind: Ints, Default: []any{}, Min: at(0), Help: "token ids that may be drawn, but open last: where one is proposed planners see no confidence, p1 = p2 = 0, log-probability -inf and the largest entropy (dllm)"},
	{Name: "sampling.credit_alpha", Kind: Float, Default: 0.0, Min: at(0), Help: "strength of CreditDecoding: alpha ln(1 + M) is added to the logits, M the credit that a token gathered (0: off; the paper's is 0.7)"},
	{Name: "sampling.credit_gamma", Kind: Float, Default: 0.2, Min: at(0), Help: "each pass credits the most probable token with its probability to this power"},
	{Name: "sampling.credit_beta", Kind: Float, Default: 0.8, Min: at(0), Max: at(1), Help: "share of its credit that a token keeps from pass to pass"},
	{Name: "sampling.block_length", Kind: Int, Default: 0, Min: at(0), Help: "positions of a block; each is opened completely before the next, by any planner, with its share of the steps and with times of its own (semi-autoregressive; 0: one block)"},
	{Name: "sampling.block_align", Kind: String, Default: "prompt", Enum: []string{"prompt", "absolute"}, Help: "where blocks begin: at the first blank (LLaDA), or at multiples of block_length (models with block-causal attention, BD3-LM)"},
	{Name: "sampling.stop", Kind: Texts, Default: []any{}, Help: "phrases that end a row as soon as one stands in the generated text with no blank before its end (generate_until); the text is cut behind it. Special tokens go by their own text. For rows without given text behind a blank. On the command line as a JSON list, such as [\"Answer:\", \"\\n\"]"},
	{Name: "sampling.eos_early_stop", Kind: Bool, Default: false, Help: "end a row as soon as an end-of-text token (eos_token_id of the model) is written and no blank is left before it; the row is cut behind it"},
	{Name: "sampling.stop_at", Kind: String, Default: "once", Enum: []string{"once", "end"}, Help: "once: a row stops in mid-run; end: it is completed first and cut then, with both counts of forward passes told (nfe and nfe_until). The text is the same where planners never mask again"},
	{Name: "sampling.max_nfe", Kind: Int, Default: 0, Min: at(0), Help: "most forward passes of a row; the last one opens all that is left. Candidates that a step weighs side by side (infogain) may exceed it (0: no bound)"},
	{Name: "sampling.pad_to", Kind: Int, Default: 0, Min: at(0), Help: "let the model see rows of this length, the tail masked and never opened (the EB paper's padding; 0: off)"},
	{Name: "num", Kind: Int, Default: 1, Min: at(1), Max: at(1e7), Help: "samples, or samples of each prompt"},
	{Name: "batch", Kind: Int, Default: 0, Min: at(0), Max: at(4096), Help: "rows that share a forward pass (0: up to 8 on a CPU, 64 on a GPU)"},
	{Name: "steps", Kind: Int, Default: 0, Min: at(0), Help: "steps of a row, a cap for adaptive planners; blocks share them (0: one for each blank, and 128 where rows grow)"},
	{Name: "length", Kind: Int, Default: 0, Min: at(0), Help: "positions to generate, special tokens not counted; where rows grow, the most (0: the model's own)"},
	{Name: "seed", Kind: Uint, Help: "seed of every random stream (drawn when not given)"},
	{Name: "prompt", Kind: String, Default: "", Help: "text that the samples begin with"},
	{Name: "infill", Kind: String, Default: "", Help: "text whose blanks (the mask token's own text) are to be filled"},
	{Name: "prompts", Kind: String, Default: "", Help: `file of JSON lines {"prompt"}, {"infill"} or {"tokens"} (-: standard input)`},
	{Name: "format", Kind: String, Default: "text", Enum: []string{"text", "jsonl"}, Help: "form of the answers (default: jsonl when out ends in .jsonl, else text)"},
	{Name: "details", Kind: Bool, Default: false, Help: "add step map, steps of insertion where rows grow, log-probabilities at opening and digests to JSON lines"},
	{Name: "out", Kind: String, Default: "", Help: "file for the answers, resumed after an interruption (empty: standard output)"},
	{Name: "shard", Kind: String, Default: "", Help: "sample a part of the run alone, i/n with i from 0 to n-1: the rows i, i+n, i+2n, ..., the same whatever n (mdmhost merge puts the files of all parts together; with a seed)"},
	{Name: "overwrite", Kind: Bool, Default: false, Help: "replace the files for the answers and the trace instead of resuming or refusing"},
	{Name: "trace", Kind: String, Default: "", Help: "file for the trace of every step: one HTML page if it ends in .html, else JSON lines (mdmhost trace shows both); entropies and probabilities are computed for it, tokens stay the same"},
	{Name: "record", Kind: Bool, Default: false, Help: "put every question to the planner and its answer into the trace, for `mdmhost plugin check --replay`; a trace of JSON lines only"},
	{Name: "watch", Kind: Bool, Default: false, Help: "show the canvas while it fills"},
}

// plugins are the sections whose keys, beside name, are the options of a plugin.
var plugins = []string{"planner", "sampler", "trainer"}

// shorthands are names of sections that may stand for one of their keys: `planner: eb`.
var shorthands = map[string]string{"planner": "planner.name", "sampler": "sampler.name", "trainer": "trainer.name", "runtime": "runtime.kind"}

// Lookup returns the description of a key, or nil.
func Lookup(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// option splits the key of a plugin's option, such as "planner.gamma"; planner.network is the host's.
func option(key string) (section, name string, ok bool) {
	section, name, ok = strings.Cut(key, ".")
	return section, name, ok && slices.Contains(plugins, section) && Lookup(key) == nil && plain(name)
}

// plain names may stand in koanf, whose delimiter is "/".
func plain(name string) bool { return name != "" && !strings.Contains(name, "/") }

// entryOf splits the key of an entry of a setting that is a map, such as runtime.session_config.
func entryOf(key string) (of, name string, ok bool) {
	for _, k := range Keys {
		if k.Kind == Map {
			if name, ok := strings.CutPrefix(key, k.Name+"."); ok && plain(name) {
				return k.Name, name, true
			}
		}
	}
	return "", "", false
}

// path is the key's place in koanf, whose delimiter is "/" because names of options and session entries hold dots.
func path(key string) string {
	if of, name, ok := entryOf(key); ok {
		return strings.ReplaceAll(of, ".", "/") + "/" + name
	}
	if section, name, ok := option(key); ok {
		return section + "/" + name
	}
	return strings.ReplaceAll(key, ".", "/")
}

// section tells whether longer keys begin with name.
func section(name string) bool {
	for _, k := range Keys {
		if strings.HasPrefix(k.Name, name+".") || (k.Kind == Map && k.Name == name) {
			return true
		}
	}
	return false
}
