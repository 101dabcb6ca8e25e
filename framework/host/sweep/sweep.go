// Package sweep measures quality against forward passes: the same rows sampled at many points, which are planners and
// samplers with options, and what came of it as a table and a picture.
package sweep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/planners"
)

// File is a sweep as it is written down.
type File struct {
	Title  string   `yaml:"title"`  // of the picture
	Metric string   `yaml:"metric"` // that the picture shows; "": the first there is of exact, valid and entropy
	Rows   int      `yaml:"rows"`
	Set    []string `yaml:"set"`    // settings of all points, "key=value"
	Points []string `yaml:"points"` // see [Expand]
}

// Read reads a file, or what is embedded under a name.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if embedded, ok := configs.Sweep(name); errors.Is(err, os.ErrNotExist) && ok {
		text, err = embedded, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w; name a file, or one of %s", name, err, strings.Join(configs.Sweeps(), ", "))
	}
	f, d := &File{}, yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("sweep %s: %s; expected title, metric, rows, set and points", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return f, nil
}

// Point is one way to sample. Points of one series differ in what it varies.
type Point struct {
	Series, Name string
	Config       *config.Config
}

// Expand makes points of "NAME key=value ...": a planner with options. A value may list several, "k=1,2,4", each of which
// makes a point; of several lists every combination, the last list varying first. A value in brackets is one list. Besides the planner's options there are
// keys of settings (those with a dot, such as sampler.k or sampling.temperature, and steps and length), sampler, the name
// of one, and config, a preset's name or file. A preset's name may stand in the place of the planner's, too.
func Expand(base *config.Config, text string) ([]Point, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("point %q: expected a planner with options, such as 'confidence k=1,2,4'", text)
	}
	points := []Point{{}}
	var series []string
	given := [][]config.Assignment{nil}
	for i, word := range words {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok && i == 0:
			key, value = "planner.name", word
			if _, known := planners.All()[word]; !known && slices.Contains(configs.Names(), word) {
				key = "config"
			}
		case !ok || key == "" || value == "":
			return nil, fmt.Errorf("point %q: expected key=value, found %q", text, word)
		}
		values := []string{value}
		if !strings.HasPrefix(value, "[") { // a setting that is a list itself
			values = strings.Split(value, ",")
		}
		if len(values) == 1 {
			series = append(series, word)
		}
		var next []Point
		var more [][]config.Assignment
		for at, p := range points {
			for _, v := range values {
				shown := key + "=" + v
				if !ok {
					shown = word
				}
				set, err := assignments(key, v, text)
				if err != nil {
					return nil, err
				}
				next = append(next, Point{Name: strings.TrimSpace(p.Name + " " + shown)})
				more = append(more, append(slices.Clone(given[at]), set...))
			}
		}
		points, given = next, more
	}
	for i := range points {
		var err error
		points[i].Series = strings.Join(series, " ")
		if points[i].Config, err = base.With(given[i]...); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// assignments says what a word sets.
func assignments(key, value, text string) ([]config.Assignment, error) {
	flag := fmt.Sprintf("point %q", text)
	switch {
	case key == "config":
		return config.FromFile(value, flag)
	case key == "sampler":
		key = "sampler.name"
	case !strings.Contains(key, ".") && key != "steps" && key != "length":
		key = "planner." + key
	}
	return []config.Assignment{{Key: key, Value: value, Flag: flag}}, nil
}
