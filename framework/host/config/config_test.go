package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, s config.Sources) *config.Config {
	t.Helper()
	c, err := config.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPrecedence(t *testing.T) {
	file := write(t, "mine.yaml", "steps: 2\nnum: 2\nbatch: 2\nsampling.temperature: 0.5\n")
	s := config.Sources{
		File:    file,
		Environ: []string{"HOME=/x", "MDMHOST_NUM=3", "MDMHOST_BATCH=3"},
		Flags:   []config.Assignment{{Key: "batch", Value: "4", Flag: "--batch"}},
	}
	c, err := load(t, s).WithModel("generation_config.json", []byte(`{"steps": 1, "length": 9, "transformers_version": "4"}`))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.With(config.Assignment{Key: "seed", Value: "9", Flag: "out.resume"}); err != nil || *c.Seed != 9 || c.Origin("seed").Place != "out.resume" {
		t.Errorf("seed %v from %s, %v", c.Seed, c.Origin("seed"), err)
	}
	c.Seed = nil
	got := []int{c.Length, c.Steps, c.Num, c.Batch}
	if diff := cmp.Diff([]int{9, 2, 3, 4}, got); diff != "" {
		t.Error(diff)
	}
	if c.Sampling.TopP != 1 || c.Sampling.Temperature != 0.5 || c.Seed != nil {
		t.Errorf("sampling %+v, seed %v", c.Sampling, c.Seed)
	}
	origins := map[string]string{}
	for _, key := range []string{"length", "steps", "num", "batch", "sampling.top_p"} {
		origins[key] = c.Origin(key).String()
	}
	want := map[string]string{
		"length": "generation_config.json:1", "steps": file + ":1", "num": "MDMHOST_NUM", "batch": "--batch", "sampling.top_p": "default",
	}
	if diff := cmp.Diff(want, origins); diff != "" {
		t.Error(diff)
	}
}

// Some variables have names of their own; beside the key's own variable they are one source.
func TestShortVariables(t *testing.T) {
	c := load(t, config.Sources{Environ: []string{"MDMHOST_LOG=debug", "MDMHOST_PLUGIN_PATH=/a:/b", "MDMHOST_REATTACH={}"}})
	got := []string{c.Plugins.Log, c.Plugins.Path, c.Plugins.Reattach, c.Origin("plugins.log").String()}
	if diff := cmp.Diff([]string{"debug", "/a:/b", "{}", "MDMHOST_LOG"}, got); diff != "" {
		t.Error(diff)
	}
}

// An empty short variable is none: what a file says stays. A level in capitals is told with the one that was meant.
func TestEmptyShortVariables(t *testing.T) {
	file := write(t, "mine.yaml", "plugins: {log: info, path: /p}\n")
	c := load(t, config.Sources{File: file, Environ: []string{"MDMHOST_LOG=", "MDMHOST_PLUGIN_PATH=", "MDMHOST_REATTACH="}})
	if c.Plugins.Log != "info" || c.Plugins.Path != "/p" || c.Plugins.Reattach != "" {
		t.Errorf("%+v", c.Plugins)
	}
	for given, want := range map[string]string{
		"DEBUG": `MDMHOST_LOG: plugins.log: expected off, error, warn, info or debug, found "DEBUG"; did you mean debug?`,
		"trace": `MDMHOST_LOG: plugins.log: expected off, error, warn, info or debug, found "trace"`,
	} {
		if _, err := config.Load(config.Sources{Environ: []string{"MDMHOST_LOG=" + given}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", given, err)
		}
	}
}

// Entries of plugins.env are names as manifests hold them, or NAME=value; what is no such name is told with the form that is right.
func TestNamesOfVariables(t *testing.T) {
	for given, want := range map[string][]string{
		"": {}, "FOO:HOME": {"FOO", "HOME"}, `["FOO","_b=1:2,3 *","EMPTY="]`: {"FOO", "_b=1:2,3 *", "EMPTY="}, "A=b c:D": {"A=b c", "D"},
	} {
		c := load(t, config.Sources{Flags: []config.Assignment{{Key: "plugins.env", Value: given, Flag: "--set plugins.env"}}})
		if diff := cmp.Diff(want, c.Plugins.Env); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
	const form = `, such as ["FOO","HOME"] or FOO:HOME, found `
	for given, want := range map[string]string{
		"FOO,HOME,NOTSET": form + `"FOO,HOME,NOTSET"`, "*": form + `"*"`, "FOO HOME": form + `"FOO HOME"`, "FOO: HOME": form + `" HOME"`, "9A": form + `"9A"`,
		"=x": form + `"=***"`, "FOO:A-B=1": form + `"A-B=***"`, "[FOO,HOME]": form + "another text", `["FOO",""]`: form + `""`,
	} {
		_, err := config.Load(config.Sources{Flags: []config.Assignment{{Key: "plugins.env", Value: given, Flag: "--set plugins.env"}}})
		if err == nil || !strings.HasSuffix(err.Error(), want) || !strings.Contains(err.Error(), "--set plugins.env: expected a list of ") {
			t.Errorf("%s: error %v, expected %s", given, err, want)
		}
	}
	_, err := config.Load(config.Sources{File: write(t, "mine.yaml", "plugins: {env: [FOO, '*']}\n")})
	if err == nil || !strings.HasSuffix(err.Error(), `mine.yaml:1: plugins.env: expected a list of names of environment variables, or NAME=value, such as [FOO, HOME], found "*"`) {
		t.Errorf("error %v", err)
	}
}

func TestEveryKeyReachesItsField(t *testing.T) {
	values := map[string]string{
		"model": "m", "plugins.start_timeout": "1.5", "plugins.call_timeout": "2", "plugins.log": "info", "plugins.path": "/p:/q", "plugins.env": `["HF_HOME"]`, "plugins.mtls": "true", "plugins.memory": "512",
		"plugins.open_files": "64", "plugins.reattach": "{}", "record": "true", "planner.name": "eb", "planner.network": "n", "sampler.name": "other",
		"sampling.temperature": "0.7", "sampling.top_k": "5", "sampling.top_p": "0.9", "sampling.min_p": "0.1",
		"sampling.suppress_tokens": "[3, 4]", "sampling.draw": "gumbel", "num": "2", "batch": "3", "steps": "4", "length": "5",
		"seed": "18446744073709551615", "prompt": "p", "format": "jsonl", "details": "true", "out": "o", "shard": "1/4", "overwrite": "true",
		"trace": "t", "watch": "true", "infill": "", "prompts": "",
		"sampling.top_p_rule": "below", "sampling.cfg_scale": "1.5", "sampling.cfg_keep_tokens": "[1]", "sampling.repetition_penalty": "1.2",
		"sampling.penalty_lambda": "2", "sampling.eos_penalty": "3", "sampling.logits_eos_inf": "true", "sampling.confidence_eos_eot_inf": "true",
		"sampling.begin_suppress_tokens": "[2]", "sampling.credit_alpha": "0.7", "sampling.credit_gamma": "0.3", "sampling.credit_beta": "0.9",
		"sampling.block_length": "32", "sampling.block_align": "absolute", "sampling.stop": `["a:b", "c"]`, "sampling.eos_early_stop": "true",
		"sampling.stop_at": "end", "sampling.max_nfe": "9", "sampling.pad_to": "64",
		"export.to": "onnx", "export.precision": "int8", "export.head": "statistics", "export.rows": "6", "export.length": "7", "export.verify": "must",
		"export.python": "py", "export.browser": "b", "export.timeout": "30",
	}
	var flags []config.Assignment
	for _, k := range config.Keys {
		if v := values[k.Name]; v != "" {
			flags = append(flags, config.Assignment{Key: k.Name, Value: v, Flag: "--set " + k.Name})
		} else if _, listed := values[k.Name]; !listed && !apart(k.Name) {
			t.Errorf("key %s: add it to this test", k.Name)
		}
	}
	flags = append(flags, config.Assignment{Key: "planner.gamma", Value: "0.2"})
	c := load(t, config.Sources{Flags: flags})
	seed := uint64(1<<64 - 1)
	want := config.Config{
		Model: "m",
		Plugins: config.Plugins{StartTimeout: 1.5, CallTimeout: 2, Log: "info", Path: "/p:/q", Env: []string{"HF_HOME"}, MTLS: true, Memory: 512, OpenFiles: 64,
			Reattach: "{}"},
		Planner: config.Planner{Part: config.Part{Name: "eb", Options: map[string]any{"gamma": config.Text("0.2")}}, Network: "n"},
		Sampler: config.Part{Name: "other"},
		Sampling: config.Sampling{Temperature: 0.7, TopK: 5, TopP: 0.9, MinP: 0.1, SuppressTokens: []int32{3, 4}, Draw: "gumbel",
			TopPRule: "below", CFGScale: 1.5, CFGKeepTokens: []int32{1}, RepetitionPenalty: 1.2, PenaltyLambda: 2, EOSPenalty: 3, LogitsEOSInf: true,
			ConfidenceEOSEOTInf: true, BeginSuppressTokens: []int32{2}, CreditAlpha: 0.7, CreditGamma: 0.3, CreditBeta: 0.9,
			BlockLength: 32, BlockAlign: "absolute", Stop: []string{"a:b", "c"}, EOSEarlyStop: true, StopAt: "end", MaxNFE: 9, PadTo: 64},
		Num: 2, Batch: 3, Steps: 4, Length: 5, Seed: &seed, Prompt: "p", Format: "jsonl", Details: true, Out: "o", Shard: "1/4",
		Overwrite: true, Trace: "t", Record: true, Watch: true,
		Export: config.Export{To: "onnx", Precision: "int8", Head: "statistics", Rows: 6, Length: 7, Verify: "must", Python: "py", Browser: "b", Timeout: 30},
	}
	for i := range reflect.TypeFor[config.Config]().NumField() {
		f := reflect.TypeFor[config.Config]().Field(i)
		if !f.IsExported() || apart(f.Tag.Get("koanf")+".") {
			continue
		}
		if diff := cmp.Diff(reflect.ValueOf(want).Field(i).Interface(), reflect.ValueOf(*c).Field(i).Interface()); diff != "" {
			t.Errorf("%s: %s", f.Name, diff)
		}
	}
}

// apart tells whether a key belongs to a section that [TestEveryOtherKeyReachesItsField] looks at.
func apart(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"runtime", "network", "order", "data", "trainer", "optimizer", "train", "serve", "hub"}, section)
}

func TestEveryOtherKeyReachesItsField(t *testing.T) {
	for _, k := range config.Keys {
		if !apart(k.Name) || k.Kind == config.Map {
			continue
		}
		var others []config.Assignment // what a setting of a runtime goes with
		switch k.Name {
		case "runtime.endpoints", "runtime.model", "runtime.model_version", "runtime.timeout", "runtime.retries", "runtime.tls_ca", "runtime.tls_cert", "runtime.tls_key", "runtime.tls_name":
			others = []config.Assignment{{Key: "runtime.kind", Value: "openinference"}, {Key: "runtime.endpoints", Value: `["grpc://a:1"]`}}
		case "runtime.head": // the last is a server's
			others = []config.Assignment{{Key: "runtime.kind", Value: "openinference"}, {Key: "runtime.endpoints", Value: `["grpc://a:1"]`}}
		case "runtime.device", "runtime.cuda_graph":
			others = []config.Assignment{{Key: "runtime", Value: "cuda"}}
		case "runtime.provider": // the last is a device of OpenVINO
			others = []config.Assignment{{Key: "runtime.kind", Value: "openvino"}}
		case "runtime.recording", "runtime.kind":
			others = []config.Assignment{{Key: "runtime.kind", Value: "replay"}, {Key: "runtime.recording", Value: "y"}}
		}
		given := map[config.Kind]string{config.String: "x", config.Int: "7", config.Float: "0.25", config.Texts: "a:b", config.Bool: "true", config.Ints: "3"}[k.Kind]
		if k.Name == "runtime.endpoints" {
			given = "http://h:1/v2"
		}
		if k.Enum != nil {
			given = k.Enum[len(k.Enum)-1]
		}
		if k.Default == true {
			given = "false"
		}
		value := given
		if k.Name == "runtime.endpoints" {
			value = `["` + given + `"]`
		}
		c := load(t, config.Sources{Flags: append(others, config.Assignment{Key: k.Name, Value: value, Flag: "--set"})})
		section, name, _ := strings.Cut(k.Name, ".")
		v := field(field(reflect.ValueOf(*c), section), name)
		if !v.IsValid() {
			t.Errorf("%s: no field", k.Name)
		} else if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Interface()), " ", ":"), "[]"); got != given {
			t.Errorf("%s: %v, expected %s", k.Name, v, given)
		}
	}
}

// field finds a field by its koanf tag.
func field(v reflect.Value, tag string) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("koanf") == tag {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func TestEveryProblemAtOnce(t *testing.T) {
	file := write(t, "mine.yaml", `planner:
  name: eb
  gamma: 0.1
plannr: {name: p2}
steps: many
sampling:
  temprature: 1
  top_p: 1.5
steps: 3
runtime:
  session_config:
    session.intra_op.allow_spinning: 0
    ep.odd: [1]
`)
	_, err := config.Load(config.Sources{
		File:    file,
		Environ: []string{"MDMHOST_BACH=3", "MDMHOST_SAMPLING__TOP_K=-1", "MDMHOST_CONFIG=ignored"},
		Flags: []config.Assignment{
			{Key: "sampling.draw", Value: "gumble", Flag: "--set sampling.draw"}, {Key: "prompt", Value: "a", Flag: "--prompt"},
			{Key: "infill", Value: "b", Flag: "--infill"}, {Key: "nothing.like.it.here", Value: "b", Flag: "--set nothing.like.it.here"},
		},
	})
	want := `configuration: 11 problems
  mine.yaml:9: steps: given twice, first in line 5; keep one
  mine.yaml:4: plannr: unknown key; did you mean planner?
  mine.yaml:5: steps: expected a whole number from 0, found the text "many"
  mine.yaml:7: sampling.temprature: unknown key; did you mean sampling.temperature?
  mine.yaml:8: sampling.top_p: expected a number above 0 up to 1, found 1.5
  mine.yaml:13: runtime.session_config.ep.odd: expected a text or number for the entry ep.odd, found [1]
  MDMHOST_BACH: bach: unknown key; did you mean MDMHOST_BATCH?
  MDMHOST_SAMPLING__TOP_K: sampling.top_k: expected a whole number from 0, found "-1"
  --set sampling.draw: expected inverse_cdf or gumbel, found "gumble"; did you mean gumbel?
  --set nothing.like.it.here: unknown key; ` + "`mdmhost config print`" + ` lists the keys
  input: expected one of prompt, infill and prompts, found prompt (--prompt) and infill (--infill); leave one`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", "")); diff != "" {
		t.Error(diff)
	}
	if problems := (config.Problems)(nil); !errors.As(err, &problems) {
		t.Errorf("expected Problems, found %T", err)
	}
}

func TestSpellings(t *testing.T) {
	for name, text := range map[string]string{
		"nested":    "planner:\n  name: eb\n  gamma: 0.3\nruntime:\n  session_config:\n    ep.b: 1\n",
		"dotted":    "planner.name: eb\nplanner.gamma: 0.3\nruntime.session_config.ep.b: 1\n",
		"shorthand": "planner: eb\nplanner.gamma: 0.3\nruntime: {session_config: {ep: {b: '1'}}}\n",
		"json":      `{"planner": {"name": "eb", "gamma": 0.3}, "runtime": {"session_config": {"ep.b": true}}}`,
	} {
		c := load(t, config.Sources{File: write(t, name+".yaml", text)})
		want := config.Part{Name: "eb", Options: map[string]any{"gamma": 0.3}}
		if diff := cmp.Diff(want, c.Planner.Part); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(map[string]string{"ep.b": "1"}, c.Runtime.SessionConfig); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c := load(t, config.Sources{
		Environ: []string{"MDMHOST_PLANNER__GAMMA=0.4", "MDMHOST_CONFIG=eb"},
		Flags:   []config.Assignment{{Key: "runtime", Value: "cuda"}},
	})
	if c.Planner.Name != "eb" || c.Planner.Options["gamma"] != config.Text("0.4") || c.Runtime.Kind != "onnx" || c.Runtime.Provider != "cuda" {
		t.Errorf("planner %+v, runtime %+v", c.Planner, c.Runtime)
	}
}

// Options belong to the planner that they were given for.
func TestOptionsStayWithTheirPlanner(t *testing.T) {
	c := load(t, config.Sources{
		File:  "eb",
		Flags: []config.Assignment{{Key: "planner.name", Value: "p2", Flag: "--planner"}, {Key: "planner.eta", Value: "1", Flag: "--set planner.eta"}},
	})
	if diff := cmp.Diff(map[string]any{"eta": config.Text("1")}, c.Planner.Options); diff != "" {
		t.Error(diff)
	}
	var left []string
	for _, e := range c.Left() {
		left = append(left, e.Key+" "+e.Origin.String()+" "+e.Note)
	}
	if diff := cmp.Diff([]string{"planner.gamma eb.yaml:6 belongs to planner eb", "planner.proxy eb.yaml:5 belongs to planner eb"}, left); diff != "" {
		t.Error(diff)
	}
}

// Who names the planner that the model has chosen begins with its defaults; who does not, changes the model's choice.
func TestNamingAPlannerBeginsWithItsDefaults(t *testing.T) {
	own := []byte(`{"planner": {"name": "eb", "gamma": 0.5, "proxy": "margin"}}`)
	set := config.Assignment{Key: "planner.gamma", Value: "0.2", Flag: "--set planner.gamma"}
	for _, c := range []struct {
		flags []config.Assignment
		want  map[string]any
		left  int
	}{
		{nil, map[string]any{"gamma": 0.5, "proxy": "margin"}, 0},
		{[]config.Assignment{set}, map[string]any{"gamma": config.Text("0.2"), "proxy": "margin"}, 0},
		{[]config.Assignment{{Key: "planner.name", Value: "eb", Flag: "--planner"}}, nil, 2},
		{[]config.Assignment{{Key: "planner.name", Value: "eb", Flag: "--planner"}, set}, map[string]any{"gamma": config.Text("0.2")}, 1},
	} {
		got, err := load(t, config.Sources{Flags: c.flags}).WithModel("generation_config.json", own)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Planner.Options, cmpopts.EquateEmpty()); diff != "" || len(got.Left()) != c.left {
			t.Errorf("%v: %d left out, expected %d\n%s", c.flags, len(got.Left()), c.left, diff)
		}
	}
}

func TestEntries(t *testing.T) {
	c := load(t, config.Sources{File: "eb", Flags: []config.Assignment{{Key: "out", Value: "a.jsonl", Flag: "--out"}}})
	got := map[string]string{}
	for _, e := range c.Entries() {
		got[e.Key] = e.Origin.String()
	}
	maps := len(slices.DeleteFunc(slices.Clone(config.Keys), func(k config.Key) bool { return k.Kind != config.Map }))
	if len(got) != len(config.Keys)-maps+2 { // with two options
		t.Errorf("%d entries for %d keys", len(got), len(config.Keys))
	}
	for key, want := range map[string]string{"planner.gamma": "eb.yaml:6", "out": "--out", "format": "--out ends in .jsonl", "num": "default", "seed": ""} {
		if got[key] != want {
			t.Errorf("%s: expected %q, found %q", key, want, got[key])
		}
	}
	if c.Format != "jsonl" {
		t.Errorf("format %s", c.Format)
	}
}

func TestNoSuchFile(t *testing.T) {
	for name, want := range map[string]string{
		"ebb":       `configuration: --config: no file or preset "ebb"; did you mean eb?`,
		"./no.yaml": "configuration: --config: open ./no.yaml: no such file or directory",
	} {
		if _, err := config.Load(config.Sources{File: name}); err == nil || err.Error() != want {
			t.Errorf("expected %q, found %v", want, err)
		}
	}
}

func TestSettingsTellListsApart(t *testing.T) {
	stop := func(list string) string {
		return load(t, config.Sources{Flags: []config.Assignment{{Key: "sampling.stop", Value: list, Flag: "--set"}}}).Settings()["sampling.stop"]
	}
	if one, two := stop(`["the end"]`), stop(`["the", "end"]`); one == two {
		t.Errorf("one phrase and two are both %s", one)
	}
}

func TestSettingsLeaveOutWhatDoesNotMatter(t *testing.T) {
	base := load(t, config.Sources{File: "eb"}).Settings()
	set := func(key, value string) map[string]string {
		return load(t, config.Sources{File: "eb", Flags: []config.Assignment{{Key: key, Value: value, Flag: "--" + key}}}).Settings()
	}
	for key, value := range map[string]string{"batch": "3", "runtime.threads": "2", "watch": "true", "out": "x.txt", "seed": "1"} {
		if diff := cmp.Diff(base, set(key, value)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	for key, value := range map[string]string{"runtime.precision": "fp16", "planner.gamma": "0.2", "num": "2", "sampling.temperature": "0", "format": "jsonl", "prompt": "x"} {
		if cmp.Equal(base, set(key, value)) {
			t.Errorf("%s makes no difference", key)
		}
	}
}

// Settings of one kind of runtime say so where another is chosen, unless the choice is the stronger word.
func TestSettingsOfAnotherRuntime(t *testing.T) {
	flag := func(key, value string) config.Assignment {
		return config.Assignment{Key: key, Value: value, Flag: "--set " + key}
	}
	for name, c := range map[string]struct {
		file  string
		flags []config.Assignment
		want  string
	}{
		"another kind's": {flags: []config.Assignment{flag("runtime.endpoints", `["grpc://a:1"]`)},
			want: "--set runtime.endpoints: goes with runtime.kind openinference, and that is onnx; leave it out, or add --runtime openinference"},
		"a map's": {flags: []config.Assignment{flag("runtime.headers.authorization", "x")},
			want: "goes with runtime.kind openinference, and that is onnx"},
		"missing": {flags: []config.Assignment{flag("runtime", "replay")}, want: "runtime.kind: replay needs runtime.recording; add --set runtime.recording=..."},
		"no address": {flags: []config.Assignment{flag("runtime", "openinference"), flag("runtime.endpoints", `["a:1"]`)},
			want: `http:// or https://; credentials go into runtime.headers), such as ["grpc://gpu1:8001","https://gpu2"], found "a:1"`},
		"no device": {flags: []config.Assignment{flag("runtime.device", "[]")}, want: "runtime.device: expected the number of a device or several, found an empty list"},
		"another kind's provider": {flags: []config.Assignment{flag("runtime", "openvino"), flag("runtime.provider", "cuda")},
			want: "runtime.provider: cuda goes with runtime.kind onnx, and that is openvino; leave it out, or add --runtime onnx"},
		"another kind's device": {flags: []config.Assignment{flag("runtime", "npu")},
			want: "npu goes with runtime.kind openvino, and that is onnx; leave it out, or add --runtime openvino"},
		"device of the CPU":   {flags: []config.Assignment{flag("runtime.device", "1")}, want: "--set runtime.device: the provider is cpu, which has none; leave it out, or name the provider"},
		"CUDA graphs on it":   {flags: []config.Assignment{flag("runtime", "cpu"), flag("runtime.cuda_graph", "true")}, want: "runtime.cuda_graph: the provider is cpu, which has none"},
		"options of it":       {file: "runtime: {provider_options: {a: 1}}\n", want: "runtime.provider_options.a: the provider is cpu, which has none"},
		"another kind's head": {flags: []config.Assignment{flag("runtime.head", "served")}, want: "runtime.head: served goes with runtime.kind openinference, and that is onnx"},
		"weaker options":      {file: "runtime: {provider: cuda, provider_options: {a: 1}, device: 1, cuda_graph: false}\n", flags: []config.Assignment{flag("runtime", "cpu")}},
		"weaker device":       {file: "runtime: {provider: cuda, device: [0, 1], cuda_graph: true}\n", flags: []config.Assignment{flag("runtime", "cpu")}},
		"weaker kind":         {file: "runtime: {kind: openinference, endpoints: ['grpc://a:1'], retries: 2}\n", flags: []config.Assignment{flag("runtime", "cpu")}},
		"weaker provider":     {file: "runtime: {provider: cuda, library_dirs: [nv]}\n", flags: []config.Assignment{flag("runtime", "openvino")}},
		"weaker word":         {file: "runtime: {provider: cuda, device: [0, 1]}\n", flags: []config.Assignment{flag("runtime", "replay"), flag("runtime.recording", "x")}},
	} {
		s := config.Sources{Flags: c.flags}
		if c.file != "" {
			s.File = write(t, "mine.yaml", c.file)
		}
		got, err := config.Load(s)
		if c.want == "" {
			if err != nil || len(got.Left()) != 2 {
				t.Errorf("%s: error %v, left out %v", name, err, got.Left())
			} else if r := got.Runtime; r.Provider != "cpu" || len(r.ProviderOptions) != 0 || r.CUDAGraph || !strings.Contains(name, "word") && !slices.Equal(r.Device, []int{0}) {
				t.Errorf("%s: %+v, expected what runs on the CPU", name, r)
			} else if strings.HasPrefix(name, "weaker kind") && r.Kind != config.KindONNX {
				t.Errorf("%s: kind %s, expected onnx", name, r.Kind)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected %s, found %v", name, c.want, err)
		}
	}
}
