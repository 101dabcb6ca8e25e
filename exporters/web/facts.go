package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// facts is page.json: what the page must know of the model, settled as the host settles it.
type facts struct {
	Name      string `json:"name"`
	Digest    string `json:"digest"` // of the source
	Version   string `json:"mdmhost"`
	Precision string `json:"precision"`
	Graph     struct {
		File  string `json:"file"`
		Bytes int    `json:"bytes"`
	} `json:"graph"`

	Mask       int32   `json:"mask"`
	MaskText   string  `json:"mask_text"`
	MaskAdded  bool    `json:"mask_added"` // the tokenizer finds the mask in a text by itself
	Pad        int32   `json:"pad"`
	Vocabulary int     `json:"vocabulary"`
	Prefix     []int32 `json:"prefix"` // put around a text
	Suffix     []int32 `json:"suffix"`
	Special    []int32 `json:"special"`    // not part of the text
	Suppressed []int32 `json:"suppressed"` // never written

	MaxLength     int  `json:"max_length"`   // 0: nothing bounds rows
	OnlyLength    int  `json:"only_length"`  // 0: any up to MaxLength
	FixedLength   int  `json:"fixed_length"` // of the graph, 0: any
	AttentionMask bool `json:"attention_mask"`
	Timed         bool `json:"timed"`
	FromZero      bool `json:"from_zero"` // the model counts times from 0, where nothing is written

	Blank    string            `json:"blank"`
	InputMap map[string]string `json:"input_map"`
	Growth   *growth           `json:"growth,omitempty"`
	Grid     any               `json:"grid,omitempty"` // of config.json

	Settings settings   `json:"settings"`
	Lacks    []string   `json:"lacks"` // settings of the model that the page does not have
	Examples []question `json:"examples"`
}

// growth is how rows of an insertion model grow.
type growth struct {
	Gap string  `json:"gap"`
	Cap int     `json:"cap"`
	A   float64 `json:"a"` // of the clock
}

// settings are what the fields of the page begin with: generation_config.json over the defaults.
type settings struct {
	Planner  map[string]any `json:"planner"`
	Sampler  map[string]any `json:"sampler"`
	Sampling map[string]any `json:"sampling"`
	Steps    int            `json:"steps"`
	Length   int            `json:"length"`
}

// question is an example of the model, one of the two.
type question struct {
	Prompt *string `json:"prompt,omitempty"`
	Infill *string `json:"infill,omitempty"`
}

// maxExamples bounds those on the page.
const maxExamples = 24

// What the page has of each section. A planner's options are those of planners.js.
var (
	ownPlanners = map[string][]string{
		"confidence": {"schedule", "k"},
		"eb":         {"gamma", "proxy", "max_entropy", "min_per_step", "max_per_step"},
		"p2":         {"eta", "kappa", "planner_temperature"},
	}
	ownSchedules = []string{"auto", "k", "uniform", "linear", "cosine"}
	ownSampler   = []string{"max_rate_step", "u_max", "grid", "events", "overflow"}
	ownSampling  = []string{"temperature", "top_k", "top_p", "top_p_rule", "min_p", "suppress_tokens"}
)

// describe settles the facts of a model whose graph has so many bytes.
func describe(s *exporters.Source, o exporters.Options, size int) (*facts, error) {
	prefix, suffix := s.Tokenizer.Template()
	f := &facts{Name: filepath.Base(s.Name), Digest: s.Digest, Version: o.Version, Precision: o.Precision,
		Mask: s.MaskID, MaskText: s.MaskText(), MaskAdded: s.Tokenizer.Added(s.MaskID), Pad: s.PadID, Vocabulary: s.V,
		Prefix: append([]int32{}, prefix...), Suffix: append([]int32{}, suffix...), Special: []int32{}, Suppressed: s.Suppress(),
		MaxLength: s.MaxLength, FixedLength: s.FixedLength(), AttentionMask: s.AttentionMask, Timed: s.Timesteps, FromZero: *s.Manifest.Time.NoiseAt == 0,
		Blank: s.Manifest.Infill.Blank, InputMap: s.Manifest.Infill.InputMap, Grid: s.Model.Config.Raw["grid"], Lacks: []string{}, Examples: []question{}}
	f.Graph.File, f.Graph.Bytes = graphFile, size
	if s.Manifest.Length.Policy == "fixed" {
		f.OnlyLength = s.Manifest.Length.Cap
	}
	if f.InputMap == nil {
		f.InputMap = map[string]string{}
	}
	for id := range int32(s.V) {
		if s.Tokenizer.Special(id) {
			f.Special = append(f.Special, id)
		}
	}
	if s.Insertion() {
		f.Growth = &growth{s.Manifest.Gap, s.MaxLength, s.ClockExponent()}
	}
	for line := range bytes.Lines(s.Examples) {
		var q question
		if json.Unmarshal(line, &q) == nil && (q.Prompt != nil) != (q.Infill != nil) && len(f.Examples) < maxExamples {
			f.Examples = append(f.Examples, q)
		}
	}
	return f, f.settle(s)
}

// settle reads the model's own settings, and notes those that the page does not have.
func (f *facts) settle(s *exporters.Source) error {
	c, err := config.Load(config.Sources{})
	if err == nil && s.GenerationConfig != nil {
		c, err = c.WithModel(s.Name+"/generation_config.json", s.GenerationConfig)
	}
	if err != nil {
		return err
	}
	lack := func(format string, args ...any) { f.Lacks = append(f.Lacks, fmt.Sprintf(format, args...)) }
	of := func(section string, options map[string]any, own []string) map[string]any {
		kept := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(options)) {
			switch {
			case !slices.Contains(own, name):
				lack("%s.%s", section, name)
			case name == "schedule" && !slices.Contains(ownSchedules, fmt.Sprint(options[name])):
				lack("%s.%s %v", section, name, options[name])
			case options[name] == math.Inf(1): // JSON has no such number
				kept[name] = "inf"
			default:
				kept[name] = options[name]
			}
		}
		return kept
	}
	f.Settings = settings{Planner: map[string]any{"name": "confidence"}, Sampler: map[string]any{}, Steps: c.Steps, Length: c.Length,
		Sampling: map[string]any{"temperature": c.Sampling.Temperature, "top_k": c.Sampling.TopK, "top_p": c.Sampling.TopP, "min_p": c.Sampling.MinP, "top_p_rule": c.Sampling.TopPRule}}
	own, there := ownPlanners[c.Planner.Name]
	switch {
	case s.Insertion():
	case !there:
		lack("planner %s", c.Planner.Name)
	default:
		f.Settings.Planner = of("planner", c.Planner.Options, own)
		f.Settings.Planner["name"] = c.Planner.Name
	}
	switch name := c.Sampler.Name; {
	case s.Insertion() && (name == "insertion" || !c.Given("sampler.name")):
		f.Settings.Sampler = of("sampler", c.Sampler.Options, ownSampler)
	case s.Insertion() || name != "masked":
		lack("sampler %s", name)
	default:
		of("sampler", c.Sampler.Options, nil)
	}
	sampling, _ := s.Generation["sampling"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(sampling)) {
		if key := config.Lookup("sampling." + name); !slices.Contains(ownSampling, name) && fmt.Sprint(key.Default) != fmt.Sprint(sampling[name]) {
			lack("sampling.%s", name)
		}
	}
	return nil
}
