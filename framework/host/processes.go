package host

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

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

// Attached tells whether a plugin is one that runs already, by plugins.reattach. The error is a [config.Problems].
func Attached(cfg *config.Config, kind sampling.Kind, name string) (bool, error) {
	running, err := supervise.ParseReattach(cfg.Plugins.Reattach)
	if err != nil {
		return false, config.Problems{{Origin: cfg.Origin("plugins.reattach"), Key: "plugins.reattach", Text: err.Error()}}
	}
	return running[name].Kind == string(kind), nil
}

// noteAttached notes which parts of the host run already, and which plugins that do are none of them.
func (h *Host) noteAttached(o Options) {
	running, err := supervise.ParseReattach(o.Plugins.Reattach)
	if err != nil {
		return // told when the parts were opened
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		r := running[name]
		switch sampling.Kind(r.Kind) {
		case sampling.KindPlanner:
			h.notes = append(h.notes, attachedNote(name, r, name == h.planner.name))
		case sampling.KindSampler:
			h.notes = append(h.notes, attachedNote(name, r, name == h.sampler.name))
		}
	}
}

func attachedNote(name string, r supervise.Reattach, used bool) string {
	if !used {
		return fmt.Sprintf("plugins.reattach has the %s %s, which this run does not use; name it with --%s %s", r.Kind, name, r.Kind, name)
	}
	return fmt.Sprintf("%s %s is process %d, which runs already (plugins.reattach): no deadlines, limits, certificates or shared memory", r.Kind, name, r.Pid)
}
