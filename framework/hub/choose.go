package hub

import (
	"fmt"
	"regexp"
	"strings"
)

// needed are the files that a model directory has: what sampling, training and `mdmhost import` read, and what says whose the model is.
var needed = []string{
	"config.json", "mdm.json", "generation_config.json", "prompts.jsonl", "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt",
	"*.safetensors", "*.safetensors.index.json", "*.onnx", "*.onnx_data*", "*.onnx.data*", "LICENSE*", "LICENCE*", "COPYING*", "NOTICE*",
}

// pickled are the weights of repositories without safetensors; `mdmhost import` reads them without executing anything.
var pickled = []string{"pytorch_model*.bin", "pytorch_model*.bin.index.json"}

// choose returns the files that are wanted. Patterns of include take the place of the choice that is made without them; those of
// exclude come last. In patterns * stands for any text, slashes included, ? for one character, and [ab] for one of several.
func choose(files []File, include, exclude []string) ([]File, error) {
	in, err := compile(include)
	if err != nil {
		return nil, err
	}
	out, err := compile(exclude)
	if err != nil {
		return nil, err
	}
	top := func(patterns []string) func(string) bool {
		match, err := compile(patterns)
		if err != nil {
			panic(err) // they are those above
		}
		return func(name string) bool { return !strings.Contains(name, "/") && match(name) }
	}
	isNeeded, isPickled := top(needed), top(pickled)
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".safetensors") && !strings.Contains(f.Path, "/") {
			isPickled = func(string) bool { return false }
		}
	}
	var chosen []File
	for _, f := range files {
		wanted := isNeeded(f.Path) || isPickled(f.Path) || strings.HasPrefix(f.Path, "onnx/")
		if len(include) > 0 {
			wanted = in(f.Path)
		}
		if wanted && !out(f.Path) {
			chosen = append(chosen, f)
		}
	}
	return chosen, nil
}

// globs turns a quoted pattern into an expression.
var globs = strings.NewReplacer(`\*`, `.*`, `\?`, `.`, `\[!`, `[^`, `\[`, `[`, `\]`, `]`)

// compile returns a function that tells whether one of the patterns fits a whole path.
func compile(patterns []string) (func(string) bool, error) {
	var all []*regexp.Regexp
	for _, p := range patterns {
		e, err := regexp.Compile(`^(?s:` + globs.Replace(regexp.QuoteMeta(p)) + `)$`)
		if err != nil {
			return nil, &OptionsError{fmt.Sprintf("pattern %q: expected *, ? and [ab] in it; close the bracket", p)}
		}
		all = append(all, e)
	}
	return func(name string) bool {
		for _, e := range all {
			if e.MatchString(name) {
				return true
			}
		}
		return false
	}, nil
}
