package host

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Deadlines bound how long plugins may take, by their settings.
func Deadlines(s config.Plugins) supervise.Deadlines {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return supervise.Deadlines{
		Start: seconds(s.StartTimeout), Call: seconds(s.CallTimeout),
		Raise: "give it more seconds with plugins.start_timeout or plugins.call_timeout",
	}
}

// Spec is how the process of a plugin runs, by the settings of plugins. The file to run is for the caller to fill in; there is none
// where Reattach is set, since that plugin runs already. The error says which setting is wrong.
func (o Options) Spec(kind sampling.Kind, name string) (supervise.Spec, error) {
	s := o.Plugins
	spec := supervise.Spec{
		Kind: kind, Name: name, Logger: o.Logger, Deadlines: o.Deadlines, Env: s.Env, MTLS: s.MTLS,
		Limits: supervise.Limits{Memory: int64(s.Memory) << 20, OpenFiles: s.OpenFiles, MemoryName: "plugins.memory", OpenFilesName: "plugins.open_files"},
	}
	running, err := supervise.ParseReattach(s.Reattach)
	if err != nil {
		return spec, &sampling.Error{Code: sampling.InvalidConfig, Object: "plugins.reattach", Problem: err.Error()}
	}
	if r, ok := running[name]; ok && r.Kind == string(kind) {
		spec.Reattach = &r
	}
	return spec, nil
}

// another says of a plugin that was not found whether one of its name runs already, as one of another kind; else it returns err.
func (o Options) another(kind sampling.Kind, name string, err error) error {
	running, fault := supervise.ParseReattach(o.Plugins.Reattach)
	r, ok := running[name]
	if fault != nil || !ok || kind == "" || r.Kind == string(kind) {
		return err
	}
	return &sampling.Error{Code: sampling.InvalidConfig, Object: string(kind) + " " + name,
		Problem: fmt.Sprintf("plugins.reattach has %s as a %s, expected a %s", name, r.Kind, kind), Hint: "give it with --" + r.Kind}
}

// Attached tells whether a plugin is one that runs already, by plugins.reattach. The error is a [config.Problems].
func Attached(cfg *config.Config, kind sampling.Kind, name string) (bool, error) {
	running, err := supervise.ParseReattach(cfg.Plugins.Reattach)
	if err != nil {
		return false, config.Problems{{Origin: cfg.Origin("plugins.reattach"), Key: "plugins.reattach", Text: err.Error()}}
	}
	return running[name].Kind == string(kind), nil
}

// noteUnused notes which planners and samplers run already, and are not those of the host.
func (h *Host) noteUnused(o Options) {
	running, err := supervise.ParseReattach(o.Plugins.Reattach)
	if err != nil {
		return // told when the parts were opened
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		kind := sampling.Kind(running[name].Kind)
		if used := map[sampling.Kind]string{sampling.KindPlanner: h.planner.name, sampling.KindSampler: h.sampler.name}[kind]; used != "" && used != name {
			h.notes = append(h.notes, fmt.Sprintf("plugins.reattach has the %s %s, which this run does not use; name it with --%s %s", kind, name, kind, name))
		}
	}
}
