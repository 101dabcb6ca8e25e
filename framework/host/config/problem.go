package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Layer is the kind of source that a value came from; a later layer wins.
type Layer string

// The layers in order of growing strength.
const (
	LayerDefault Layer = "default"
	LayerModel   Layer = "model" // the model's generation_config.json
	LayerFile    Layer = "file"
	LayerEnv     Layer = "environment"
	LayerFlag    Layer = "flag"
)

// Origin says where a value was given.
type Origin struct {
	Layer Layer
	Place string // "mine.yaml:3", "MDMHOST_STEPS", "--steps"; empty for defaults
}

// String returns the place, or "default".
func (o Origin) String() string { return cmp.Or(o.Place, string(o.Layer)) }

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Origin Origin
	Key    string
	Text   string
}

// String reads "mine.yaml:3: steps: expected a whole number from 0, found many"; a flag that is spelt like the key stands
// for both.
func (p Problem) String() string {
	key := p.Key
	if strings.HasPrefix(p.Origin.Place, "--") && strings.HasSuffix(p.Origin.Place, key) {
		key = ""
	}
	var parts []string
	for _, s := range []string{p.Origin.Place, key, p.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is everything that is wrong with a configuration: an error that lists all of it.
type Problems []Problem

// Error lists the problems, one a line when there are several.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "configuration: " + p[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(p))
	for _, one := range p {
		b.WriteString("\n  " + one.String())
	}
	return b.String()
}

// err returns the problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
