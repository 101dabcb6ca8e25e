package registry

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// ManifestError is everything that is wrong with a plugin.yaml.
type ManifestError struct {
	File     string
	Problems []string // each begins with its line
}

// Error lists the problems, one a line when there are several.
func (e *ManifestError) Error() string {
	if len(e.Problems) == 1 {
		return e.File + ":" + e.Problems[0]
	}
	return fmt.Sprintf("%s: %d problems\n  %s", e.File, len(e.Problems), strings.Join(e.Problems, "\n  "))
}

// ParseManifest reads the text of a plugin.yaml; file is its name in messages. An error is a [ManifestError].
func ParseManifest(file string, text []byte) (*Manifest, error) {
	r := &manifestReader{seen: map[string]*yaml.Node{}}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, second yaml.Node
	err := d.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		r.problems = []string{"1: is empty, expected name, kind, version and the other keys of a plugin"}
	case err != nil:
		r.problems = []string{"1: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	case !errors.Is(d.Decode(&second), io.EOF):
		r.problems = []string{"1: expected one YAML document, found more behind it; keep one"}
	case doc.Content[0].Kind != yaml.MappingNode:
		r.add(doc.Content[0], "expected keys and values, such as name: my-planner")
	default:
		r.read(doc.Content[0])
	}
	if len(r.problems) > 0 {
		return nil, &ManifestError{File: file, Problems: r.problems}
	}
	return &r.m, nil
}

type manifestReader struct {
	m        Manifest
	seen     map[string]*yaml.Node
	problems []string
}

func (r *manifestReader) add(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%d: %s", n.Line, fmt.Sprintf(format, args...)))
}

// key is one key of the manifest.
type key struct {
	name     string
	optional bool
	read     func(r *manifestReader, n *yaml.Node)
}

var keys = []key{
	{"name", false, func(r *manifestReader, n *yaml.Node) {
		r.m.Name = r.text(n, "name", namePlain.MatchString, "small letters, digits and hyphens between them, 64 at most, such as my-planner")
	}},
	{"kind", false, func(r *manifestReader, n *yaml.Node) {
		r.m.Kind = sampling.Kind(r.text(n, "kind", func(s string) bool { return slices.Contains(sampling.Kinds, sampling.Kind(s)) }, "planner, sampler or trainer"))
	}},
	{"version", false, func(r *manifestReader, n *yaml.Node) {
		r.m.Version = r.text(n, "version", semantic.MatchString, "a semantic version such as 0.1.0")
	}},
	{"protocol", false, func(r *manifestReader, n *yaml.Node) {
		if n.Tag != "!!int" || n.Decode(&r.m.Protocol) != nil || r.m.Protocol < 1 {
			r.add(n, "protocol: expected a version of the plugin protocol, a whole number from 1, found %s", shown(n))
		}
	}},
	{"summary", false, func(r *manifestReader, n *yaml.Node) { r.m.Summary = r.text(n, "summary", line, "one line of text") }},
	{"license", false, func(r *manifestReader, n *yaml.Node) {
		r.m.License = r.text(n, "license", line, "a licence such as Apache-2.0")
	}},
	{"entry", false, (*manifestReader).entry},
	{"args", true, func(r *manifestReader, n *yaml.Node) {
		r.m.Args = r.texts(n, "args", func(s string) bool { return !strings.ContainsRune(s, 0) }, "an argument")
	}},
	{"setup", true, func(r *manifestReader, n *yaml.Node) {
		r.m.Setup = path.Clean(r.text(n, "setup", inside, "the path of a program within the plugin's folder, such as ./setup"))
	}},
	{"environment", true, func(r *manifestReader, n *yaml.Node) {
		r.m.Environment = r.texts(n, "environment", nameOfEnv.MatchString, "the name of an environment variable")
	}},
	{"files", true, func(r *manifestReader, n *yaml.Node) {
		r.m.Files = r.texts(n, "files", pattern, "a glob pattern of files within the plugin's folder, such as wheels/*.whl")
	}},
}

func (r *manifestReader) read(n *yaml.Node) {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	for pair := range slices.Chunk(n.Content, 2) {
		name, value := pair[0], pair[1]
		at := slices.Index(names, name.Value)
		switch {
		case name.Kind != yaml.ScalarNode || at < 0:
			r.add(name, "%s: unknown key%s", shown(name), didYouMean(name.Value, names))
			continue
		case r.seen[name.Value] != nil:
			r.add(name, "%s: given twice, first in line %d; keep one", name.Value, r.seen[name.Value].Line)
			continue
		}
		r.seen[name.Value] = name
		keys[at].read(r, resolved(value))
	}
	for _, k := range keys {
		if r.seen[k.name] == nil && !k.optional {
			r.add(n, "%s: is missing", k.name)
		}
	}
}

// entry is one path, or one for each platform.
func (r *manifestReader) entry(n *yaml.Node) {
	const what = "the path of an executable within the plugin's folder"
	r.m.Entry = map[string]string{}
	if n.Kind == yaml.ScalarNode {
		r.m.Entry[""] = path.Clean(r.text(n, "entry", inside, what))
		return
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.add(n, "entry: expected %s, or one for each platform, such as {linux/amd64: bin/a}", what)
		return
	}
	for pair := range slices.Chunk(n.Content, 2) {
		platform := r.text(resolved(pair[0]), "entry", ofPlatform.MatchString, "a platform such as linux/amd64")
		if _, twice := r.m.Entry[platform]; twice {
			r.add(pair[0], "entry: %s given twice; keep one", platform)
		}
		r.m.Entry[platform] = path.Clean(r.text(resolved(pair[1]), "entry of "+platform, inside, what))
	}
}

func (r *manifestReader) text(n *yaml.Node, key string, fits func(string) bool, expected string) string {
	// A version such as 1.0 is a number to YAML: what was written counts.
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || !fits(n.Value) {
		r.add(n, "%s: expected %s, found %s", key, expected, shown(n))
		return ""
	}
	return n.Value
}

func (r *manifestReader) texts(n *yaml.Node, key string, fits func(string) bool, expected string) []string {
	if n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.add(n, "%s: expected a list, such as [a, b], found %s", key, shown(n))
		return nil
	}
	var out []string
	for _, one := range n.Content {
		out = append(out, r.text(resolved(one), key, fits, expected))
	}
	return out
}

func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func shown(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
