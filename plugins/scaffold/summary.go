package scaffold

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Summary says what was written and which two commands come next.
func (p Project) Summary(paths []string) string {
	kind := map[string]string{Go: "Go", Python: "Python"}[p.Language]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s in %s, %d files\n", p.Folder(), p.Kind, p.Name, kind, len(paths))
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	last := ""
	for _, path := range paths {
		top, _, folder := strings.Cut(path, "/")
		if folder {
			top += "/"
		}
		if top != last {
			fmt.Fprintf(w, "  %s\t%s\n", top, p.purpose(top))
		}
		last = top
	}
	w.Flush() // a strings.Builder takes everything
	steps := p.Steps()
	fmt.Fprintf(&b, "Next:\n  %s\n  %s\n", steps[0], steps[1])
	return b.String()
}

// purpose is what a file or folder at the top of the project is for.
func (p Project) purpose(top string) string {
	return map[string]string{
		"main.go":              "the plugin",
		p.Ident() + ".py":      "the plugin",
		p.Name + "_test.go":    "its tests",
		p.Ident() + "_test.py": "its tests",
		p.Name:                 "starts it, with the Python of .venv",
		"graph.py":             "what its loss is written with",
		"setup":                "makes .venv",
		"requirements.txt":     "the packages that it makes it of, with their digests",
		"wheels/":              "the kit",
		"kit/":                 "the kit's source",
		"go.mod":               "takes the kit from there",
		"go.sum":               "digests of all modules",
		"pyproject.toml":       "what Python's tools want to know",
		"plugin.yaml":          "what mdmhost wants to know",
		"train.yaml":           "a run of seconds, to try it",
		"README.md":            "how to change, test and share it",
		"LICENSE":              "Apache-2.0, or what you choose",
		"Justfile":             "the tasks, for the command runner just",
		"ci.sh":                "build, tests and checks, for CI",
		".gitignore":           "what git leaves out",
	}[top]
}
