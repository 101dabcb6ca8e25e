package web

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What page.json takes over of a model's settings is what the page's scripts have, under the same names.
func TestSettingsAreThoseOfTheScripts(t *testing.T) {
	between := func(file, from, to string) string {
		b, err := assets.ReadFile("assets/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b), from)
		text, _, found := strings.Cut(text, to)
		if !found {
			t.Fatalf("%s: nothing between %q and %q", file, from, to)
		}
		return text
	}
	equal := func(what string, own, scripts []string) {
		if own, scripts := slices.Sorted(slices.Values(own)), slices.Sorted(slices.Values(scripts)); !slices.Equal(own, scripts) {
			t.Errorf("%s: facts.go has %q, the scripts %q", what, own, scripts)
		}
	}
	names := func(text, pattern string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	planners := between("planners.js", "export const planners = {\n", "\n};")
	begins, options := `(\w+): \{plan:`, regexp.MustCompile(`\w+: \{plan:`).Split(planners, -1)[1:]
	equal("planners", slices.Collect(maps.Keys(ownPlanners)), names(planners, begins))
	for i, name := range names(planners, begins) {
		equal("planner "+name, ownPlanners[name], names(options[i], `(\w+): (?:number|choice)\(`))
	}
	equal("schedules", ownSchedules, names(between("planners.js", "const schedules = {", "\n};"), `(?m)^  (\w+): `))
	equal("sampler", ownSampler, names(between("page.js", "const leaps = {", "\n};"), `(\w+): \{(?:value|names):`))
}

// The licences in an export are those of the versions that it holds.
func TestLicensesNameVersions(t *testing.T) {
	text, err := assets.ReadFile("assets/LICENSES.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !strings.Contains(string(text), p.name+" "+p.version+",") {
			t.Errorf("LICENSES.txt does not name %s %s", p.name, p.version)
		}
	}
}
