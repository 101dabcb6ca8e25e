package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseFile reads settings from YAML (or JSON), each with its line. name stands in messages.
func parseFile(name string, text []byte, layer Layer) ([]setting, Problems) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, second yaml.Node
	whole := func(text string) Problems { return Problems{{Origin: Origin{layer, name}, Text: text}} }
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, whole(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, whole("expected one YAML document, found another after it; keep one")
	}
	r := reader{name: name, layer: layer, seen: map[string]int{}}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode && root.Tag != "!!null" {
		return nil, whole("expected keys and values, such as planner.name: eb")
	}
	r.mapping("", root, 0)
	return r.out, r.problems
}

type reader struct {
	name     string
	layer    Layer
	seen     map[string]int // line of a key
	out      []setting
	problems Problems
}

func (r *reader) origin(n *yaml.Node) Origin {
	return Origin{r.layer, fmt.Sprintf("%s:%d", r.name, n.Line)}
}

func (r *reader) problem(n *yaml.Node, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.origin(n), key, fmt.Sprintf(format, args...)})
}

// mapping walks the keys below prefix; nested and dotted keys mean the same.
func (r *reader) mapping(prefix string, n *yaml.Node, depth int) {
	for pair := range slices.Chunk(n.Content, 2) {
		name, value := pair[0], pair[1]
		key := strings.TrimPrefix(prefix+"."+name.Value, ".")
		if name.Kind != yaml.ScalarNode || name.Value == "" {
			r.problem(name, prefix, "expected a name as key")
			continue
		}
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		_, _, entry := entryOf(key)
		switch {
		case value.Tag == "!!null": // an empty section, or a key left to its default
		case value.Kind == yaml.MappingNode && (section(key) || entry) && depth < 16:
			r.mapping(key, value, depth+1)
		default:
			r.leaf(key, name, value)
		}
	}
}

func (r *reader) leaf(key string, name, value *yaml.Node) {
	if line, twice := r.seen[key]; twice {
		r.problem(name, key, "given twice, first in line %d; keep one", line)
		return
	}
	r.seen[key] = name.Line
	var v any
	if err := value.Decode(&v); err != nil {
		r.problem(value, key, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	r.out = append(r.out, setting{key, v, r.origin(name)})
}
