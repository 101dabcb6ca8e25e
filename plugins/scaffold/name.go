package scaffold

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

var (
	names    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	versions = regexp.MustCompile(`^v[0-9]+$`)
	devices  = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
)

// pythonNames are the words of Python and the modules of its library: a file of such a name could not be imported, or would be
// imported instead of the library's. python-names.sh writes them.
//
//go:embed python-names.txt
var pythonNames string

// checkName refuses names that could not be a plugin's.
func (p Project) checkName() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("plugin name %q: %s; choose another name", p.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case !names.MatchString(p.Name):
		return refuse("expected lower-case letters, digits and dashes, a letter or digit first and last")
	case len(p.Name) > 64:
		return refuse("expected at most 64 characters, found %d", len(p.Name))
	case slices.Contains([]string{"data", "graph", "kit", "runs", "setup", "wheels"}, p.Name):
		return refuse("the project has a file of this name")
	case versions.MatchString(p.Name):
		return refuse("Go takes it for a version")
	case devices.MatchString(p.Name):
		return refuse("Windows has a device of this name, and Go takes no module that is called so")
	}
	if kind := firstParty(p.Name); kind != "" {
		return refuse("mdmhost has a %s of this name, which --%s %s would go on to mean", kind, kind, p.Name)
	}
	if p.Language == Python {
		if p.Name[0] <= '9' {
			return refuse("it begins with a digit, and a module of Python cannot")
		}
		if slices.Contains(strings.Fields(pythonNames), p.Ident()) {
			return refuse("Python has a word or a module of this name, which the plugin's file would stand in the way of")
		}
	}
	return nil
}

// firstParty returns the kind of the plugin that mdmhost itself has under a name, or "".
func firstParty(name string) string {
	for kind, names := range map[string][]string{
		"planner": slices.Collect(maps.Keys(planners.All())),
		"sampler": slices.Collect(maps.Keys(samplers.All())),
		"trainer": slices.Collect(maps.Keys(trainers.All())),
	} {
		if slices.Contains(names, name) {
			return kind
		}
	}
	return ""
}
