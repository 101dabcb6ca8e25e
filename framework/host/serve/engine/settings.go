package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

// settled is a model with the settings of a question: what a lane is opened for, but for those that rows have of their own.
type settled struct {
	name  string // as requests call the model
	model *model.Model
	cfg   *config.Config // with the model's own settings in it
	base  *config.Config // the same without those of a question
	key   string         // equal where lanes may be shared
}

// String names the lane in logs: the model, the planner and the sampler.
func (s *settled) String() string {
	return fmt.Sprintf("%s, planner %s, sampler %s", s.name, s.cfg.Planner.Name, s.cfg.Sampler.Name)
}

// perRow are the settings that each row has of its own.
var perRow = []string{"sampling.temperature", "sampling.top_p", "sampling.top_k", "sampling.min_p", "steps", "length", "num"}

// settable are the settings that a question may bring, besides options of planner and sampler and the section sampling.
var settable = []string{"planner", "planner.name", "sampler", "sampler.name", "steps", "length"}

// settle returns the model's settings with those of a question, which are held against what requests may set and against the options of
// first-party plugins. The error is a [RequestError].
func (s *settled) settle(serve *config.Serve, given []config.Assignment) (*settled, error) {
	if len(given) == 0 {
		return s, nil
	}
	for _, a := range given {
		if err := s.allows(serve, a); err != nil {
			return nil, err
		}
	}
	cfg, err := s.cfg.With(given...)
	if err != nil {
		return nil, refusal(err)
	}
	out := &settled{name: s.name, model: s.model, cfg: cfg, base: s.cfg}
	if err := out.checkOptions(); err != nil {
		return nil, refusal(err)
	}
	out.key, err = out.keyed()
	return out, err
}

// allows refuses what a request may not set.
func (s *settled) allows(serve *config.Serve, a config.Assignment) error {
	refuse := func(format string, args ...any) error {
		return &RequestError{Param: a.Flag, Text: fmt.Sprintf(format, args...)}
	}
	section, _, _ := strings.Cut(a.Key, ".")
	switch {
	case a.Key == "planner" || a.Key == "planner.name":
		if names := among(host.Names(sampling.KindPlanner), serve.Planners, s.cfg.Planner.Name); !slices.Contains(names, a.Value) {
			return refuse("planner %q is not served%s", a.Value, nearest.DidYouMean(a.Value, names))
		}
	case a.Key == "sampler" || a.Key == "sampler.name":
		if names := among(host.Names(sampling.KindSampler), serve.Samplers, s.cfg.Sampler.Name); !slices.Contains(names, a.Value) {
			return refuse("sampler %q is not served%s", a.Value, nearest.DidYouMean(a.Value, names))
		}
	case a.Key == "planner.network":
		if a.Value != s.cfg.Planner.Network && !slices.Contains(serve.Models, a.Value) {
			return refuse("network %q is not served; leave it out, or have it added to serve.models", a.Value)
		}
	case slices.Contains(settable, a.Key):
	case section != "planner" && section != "sampler" && section != "sampling":
		return refuse("requests cannot set %s; they set planner, sampler, their options, sampling.*, steps and length", a.Key)
	}
	return nil
}

// among are the names that requests may give: those in this program, those that the server's configuration lists, and its own choice.
func among(own, listed []string, chosen string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Concat(own, listed), chosen))))
}

// checkOptions holds options of first-party plugins against their schemas, before a process is started for them.
func (s *settled) checkOptions() error {
	var all config.Problems
	if plugin, ok := planners.All()[s.cfg.Planner.Name]; ok {
		problems, err := s.check(plugin(), "planner", s.cfg.PlannerOptions)
		if all = append(all, problems...); err != nil {
			return err
		}
	}
	if plugin, ok := samplers.All()[s.cfg.Sampler.Name]; ok {
		problems, err := s.check(plugin(), "sampler", s.cfg.SamplerOptions)
		if all = append(all, problems...); err != nil {
			return err
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// check holds the options of a plugin against its schema. Files of the server are not for requests to name.
func (s *settled) check(plugin describer, section string, validate func(schema string) (map[string]any, error)) (config.Problems, error) {
	about, err := plugin.Describe(context.Background())
	if err != nil {
		return nil, err
	}
	problems, err := s.files(section, about.OptionsSchema)
	if err != nil {
		return nil, err
	}
	_, err = validate(about.OptionsSchema)
	if wrong, ok := err.(config.Problems); ok { //nolint:errorlint // that is how it is returned
		return append(problems, wrong...), nil
	}
	return problems, err
}

// vet holds the options of plugins that are not of this program against what they say of themselves, before they are given them.
func (s *settled) vet(planner, sampler sampling.Description) error {
	problems, err := s.files("planner", planner.OptionsSchema)
	more, also := s.files("sampler", sampler.OptionsSchema)
	if err = errors.Join(err, also); err != nil {
		return err
	}
	if problems = append(problems, more...); problems != nil {
		return problems
	}
	return nil
}

// files are the options of a question that name files.
func (s *settled) files(section, options string) (problems config.Problems, err error) {
	var schema struct {
		Properties map[string]struct {
			Format string
			Items  struct{ Format string }
		}
	}
	if strings.TrimSpace(options) == "" { // it has none
		return nil, nil
	}
	if err := json.Unmarshal([]byte(options), &schema); err != nil {
		return nil, fmt.Errorf("%s: expected its options as a JSON Schema object: %w; its author must correct it", section, err)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p, key := schema.Properties[name], section+"."+name
		if origin := s.cfg.Origin(key); (p.Format == "path" || p.Items.Format == "path") && s.cfg.Given(key) && origin != s.base.Origin(key) {
			problems = append(problems, config.Problem{Origin: origin, Key: key, Text: "names a file, which requests may not; have it set in the server's configuration"})
		}
	}
	return problems, nil
}

// describer is what all plugins have in common.
type describer interface {
	Describe(context.Context) (sampling.Description, error)
}

// keyed tells lanes apart: by the model and by all settings but those of rows.
func (s *settled) keyed() (string, error) {
	settings := s.cfg.Settings()
	for _, key := range perRow {
		delete(settings, key)
	}
	settings["temperature"] = s.warmth()
	if draw := s.cfg.Sampling; !s.truncates() && draw.Temperature > 0 {
		settings["truncates"] = fmt.Sprint(draw.TopK > 0 || draw.TopP < 1 || draw.MinP > 0)
	}
	if t := s.cfg.Sampling.Temperature; s.cfg.Runtime.Kind == config.KindOpenInference { // where statistics are computed may hang on it
		settings["tempered"] = fmt.Sprint(t != 0 && t != 1)
	}
	key, err := json.Marshal(settings) // sorted
	return s.name + string(key), err
}

// warmth is what plugins are told of the temperature and may go by. Those of this program see whether there are draws, and the sampler
// insertion whether they are of the model's own distribution; what others make of it nobody knows.
func (s *settled) warmth() string {
	t := s.cfg.Sampling.Temperature
	_, planner := planners.All()[s.cfg.Planner.Name]
	_, sampler := samplers.All()[s.cfg.Sampler.Name]
	switch {
	case t == 0:
		return "0"
	case planner && sampler && s.cfg.Sampler.Name != "insertion":
		return "above 0"
	case planner && sampler && t != 1:
		return "neither 0 nor 1"
	}
	return fmt.Sprint(t)
}

// truncates tells whether one statistics head serves rows with top-k, top-p or min-p and rows without at no cost to these: the one that
// is a kernel on the CPU looks at each row. Others truncate all rows or none.
func (s *settled) truncates() bool {
	r := &s.cfg.Runtime
	return r.Kind == config.KindONNX && r.Provider == "cpu" && (r.Head == "auto" || r.Head == "fused")
}
