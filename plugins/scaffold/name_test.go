package scaffold

import (
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ language, name, want string }{
		{Go, "calm", ""},
		{Go, "2-steps", ""},
		{Go, "linux", ""},
		{Go, "sort", ""},
		{Python, "my-planner", ""},
		{Go, "", "expected lower-case letters, digits and dashes"},
		{Go, "-x", "expected lower-case letters"},
		{Go, "My", "expected lower-case letters"},
		{Go, "a_b", "expected lower-case letters"},
		{Go, "../x", "expected lower-case letters"},
		{Go, "x-", "expected lower-case letters"},
		{Go, "x\n", "expected lower-case letters"},
		{Go, strings.Repeat("x", 65), "expected at most 64 characters, found 65"},
		{Go, "v2", "Go takes it for a version"},
		{Go, "aux", "Windows has a device of this name"},
		{Go, "kit", "the project has a file of this name"},
		{Python, "setup", "the project has a file of this name"},
		{Go, "eb", "mdmhost has a planner of this name, which --planner eb would go on to mean"},
		{Python, "gillespie", "mdmhost has a sampler of this name"},
		{Go, "md4", "mdmhost has a trainer of this name"},
		{Python, "2-steps", "it begins with a digit"},
		{Python, "class", "Python has a word or a module of this name"},
		{Python, "statistics", "Python has a word or a module of this name"},
		{Python, "numpy", "Python has a word or a module of this name"},
		{Python, "pip", "Python has a word or a module of this name"},
		{Python, "pkg-resources", "Python has a word or a module of this name"},
		{Python, "mdmhost-plugin", "Python has a word or a module of this name"},
		{Python, "tests", "Python has a word or a module of this name"},
		{Python, "wheel", "Python has a word or a module of this name"},
	} {
		err := Project{Name: c.name, Kind: sampling.KindPlanner, Language: c.language}.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s %q: %v", c.language, c.name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "plugin name ") || !strings.Contains(err.Error(), c.want) ||
			!strings.HasSuffix(err.Error(), "; choose another name")):
			t.Errorf("%s %q: error %v, want %q", c.language, c.name, err, c.want)
		}
	}
	for want, p := range map[string]Project{
		`kind "judge": expected one of [planner sampler trainer]`: {Name: "x", Kind: "judge", Language: Go},
		`language "rust": expected one of [go python]`:            {Name: "x", Kind: sampling.KindSampler, Language: "rust"},
	} {
		if err := p.Check(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
