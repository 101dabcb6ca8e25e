package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/registry"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/supervise"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// Names are those of the first-party plugins of a kind, or of all with "".
func Names(kind sampling.Kind) []string {
	var out []string
	if kind == "" || kind == sampling.KindPlanner {
		out = appendNames(out, planners.All())
	}
	if kind == "" || kind == sampling.KindSampler {
		out = appendNames(out, samplers.All())
	}
	if kind == "" || kind == sampling.KindTrainer {
		out = appendNames(out, trainers.All())
	}
	slices.Sort(out)
	return out
}

func appendNames[P any](names []string, all map[string]func() P) []string {
	for name := range all {
		names = append(names, name)
	}
	return names
}

// Locate finds the plugin that name stands for, where it is no part of this program: by its path, or by its name in the places of
// plugins. Its files are not looked at.
func (o Options) Locate(kind sampling.Kind, name string) (*registry.Plugin, error) {
	places, err := registry.FindPlaces(o.Plugins.Path)
	if err != nil {
		return nil, err
	}
	plugin, err := registry.Find(kind, name, places, Names(kind))
	if err != nil {
		return nil, o.another(kind, name, err)
	}
	return plugin, nil
}

// Command is how the process of a located plugin runs, asked for by name as one of a kind. One whose files are not as they were
// installed or locked is refused with a [registry.ChangedError].
func (o Options) Command(plugin *registry.Plugin, kind sampling.Kind, name string) (supervise.Spec, error) {
	spec, err := o.Spec(kind, name)
	if err != nil {
		return spec, err
	}
	places, err := registry.FindPlaces(o.Plugins.Path)
	if err != nil {
		return spec, err
	}
	if spec.Digest, err = places.Check(plugin); err != nil {
		return spec, err
	}
	spec.Path, spec.Args, err = plugin.Command()
	return spec, err
}

// noteWithheld says how a plugin would see the variables that it asks for, that are set, and that plugins.env does not allow.
func (o Options) noteWithheld(kind sampling.Kind, plugin *registry.Plugin) []string {
	if plugin.Manifest == nil {
		return nil
	}
	allowed := func(name string) bool {
		return slices.ContainsFunc(o.Plugins.Env, func(v string) bool { return v == name || strings.HasPrefix(v, name+"=") })
	}
	names := slices.DeleteFunc(slices.Clone(plugin.Manifest.Environment), func(name string) bool {
		_, set := os.LookupEnv(name)
		return !set || allowed(name)
	})
	if len(names) == 0 {
		return nil
	}
	allow := strings.Join(append(slices.Clone(o.Plugins.Env), names...), ":")
	return []string{fmt.Sprintf("%s %s would like to see %s, which plugins.env does not allow; to allow it, --set plugins.env=%s",
		kind, plugin.Name, strings.Join(names, ", "), allow)}
}

// PlannerDigest stands for the planner's code: see [Host.SamplerDigest].
func (h *Host) PlannerDigest() (string, error) { return h.planner.digest() }

// SamplerDigest stands for the sampler's code: the SHA-256, in hexadecimals, of this program for a plugin within it, of a binary, or
// of the SHA256SUMS over all files of a plugin with a manifest. Of a process that runs already nothing is known: "".
func (h *Host) SamplerDigest() (string, error) { return h.sampler.digest() }

func (p *part[P]) digest() (string, error) {
	switch {
	case p.attached:
		return "", nil
	case p.found != nil:
		sums, err := p.found.Hash()
		if p.found.Manifest != nil {
			return strings.TrimPrefix(sums.Digest(), "sha256:"), err
		}
		return sums[filepath.Base(p.found.Path)], err
	}
	return own()
}

// own stands for this program, which does not change while it runs.
var own = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return (&part[any]{found: &registry.Plugin{Path: self}}).digest()
})
