package parity

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// Contestant is one way to run the model: settings that differ from others in their section runtime alone.
type Contestant struct {
	Name   string
	Config *config.Config
}

// option begins a setting of a contestant; what stands before the next one is its value, commas included.
var option = regexp.MustCompile(`(^|,)([a-z_][a-z0-9_.]*)=`)

// Expand makes a contestant of "NAME" or "NAME:key=value,...": NAME is a kind of runtime, a provider, a preset or a file of settings, the
// keys are those of the section runtime. Settings that base gives stay where the contestant says nothing else.
func Expand(base *config.Config, text string) (Contestant, error) {
	name, rest, more := strings.Cut(text, ":")
	flag := fmt.Sprintf("contestant %q", text)
	var given []config.Assignment
	if known := slices.Concat(config.Lookup("runtime.kind").Enum, config.Lookup("runtime.provider").Enum); slices.Contains(known, name) {
		given = append(given, config.Assignment{Key: "runtime", Value: name, Flag: flag})
	} else {
		file, err := config.FromFile(name, flag)
		if err != nil {
			return Contestant{}, fmt.Errorf("%s: expected a runtime (%s), a preset or a file of settings: %w", flag, strings.Join(known, ", "), err)
		}
		given = file
	}
	at := option.FindAllStringSubmatchIndex(rest, -1)
	if more && (len(at) == 0 || at[0][0] != 0) {
		return Contestant{}, fmt.Errorf("%s: expected NAME:key=value,..., with keys of the section runtime, such as onnx:head=graph", flag)
	}
	for i, m := range at {
		end := len(rest)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		key := rest[m[4]:m[5]]
		if !strings.HasPrefix(key, "runtime.") {
			key = "runtime." + key
		}
		given = append(given, config.Assignment{Key: key, Value: rest[m[1]:end], Flag: flag})
	}
	for _, g := range given {
		if g.Key != "runtime" && !strings.HasPrefix(g.Key, "runtime.") {
			return Contestant{}, fmt.Errorf("%s: sets %s, expected settings of the section runtime alone; leave it out, or give it to all of them with --set", flag, g.Key)
		}
	}
	cfg, err := base.With(given...)
	if err != nil {
		return Contestant{}, err
	}
	return Contestant{Name: text, Config: cfg}, nil
}

// others are what is tried where nobody says what to compare with.
var others = []string{"cpu", "onnx:head=graph", "onnx:head=go", "cuda", config.KindOpenVINO, config.KindOpenInference, config.KindReplay}

// Others returns what this program could run the model in besides base, and what it cannot for want of settings, with the reason.
func Others(base *config.Config) (all []Contestant, out []LeftOut) {
	for _, text := range others {
		c, err := Expand(base, text)
		if err != nil {
			out = append(out, LeftOut{text, firstLine(err)})
			continue
		}
		if !reflect.DeepEqual(c.Config.Runtime, base.Runtime) {
			all = append(all, c)
		}
	}
	return all, out
}

// LeftOut is a contestant that this machine cannot have.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
