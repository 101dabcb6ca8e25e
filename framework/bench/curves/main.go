// Command curves draws the evaluations of runs: bounds in nats a row against steps or processor time, from the curves.csv of the
// experiments in scripts/.
//
//	go run ./framework/bench/curves -x cpu_seconds -out docs/stars.png runs/stars/curves.csv
package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/mdmhost/mdmhost/framework/picture"
)

func main() {
	x := flag.String("x", "step", "`column` of the x axis: step or cpu_seconds")
	title := flag.String("title", "", "above the picture")
	out := flag.String("out", "curves.png", "`file` of the picture")
	flag.Parse()
	if err := run(flag.Arg(0), *x, *title, *out); err != nil {
		fmt.Fprintln(os.Stderr, "curves:", err)
		os.Exit(1)
	}
}

// run draws one line for each model and seed.
func run(path, x, title, out string) error {
	lines, models, err := read(path, x)
	if err != nil {
		return err
	}
	p := picture.New(title)
	p.X.Label.Text, p.Y.Label.Text = map[string]string{"step": "steps", "cpu_seconds": "seconds of processor time"}[x], "bound, nats a row"
	p.X.Tick.Marker, p.Y.Tick.Marker = picture.LinearTicks{}, picture.LinearTicks{}
	colours := []color.Color{picture.Blue, picture.Orange, picture.Grey}
	for i, model := range models {
		for k, points := range lines[model] {
			line, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			line.LineStyle = picture.Stroke(colours[i%len(colours)], 1.6)
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: colours[i%len(colours)], Radius: 2.4, Shape: picture.Dot{}}
			p.Add(line, dots)
			if k == 0 {
				p.Legend.Add(model, line)
			}
		}
	}
	p.Add(picture.LegendGround{})
	return picture.WriteFile(out, p, nil)
}

// read takes the evaluations that have a bound: by model, one curve for each seed.
func read(path, x string) (lines map[string][]plotter.XYs, models []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	lines = map[string][]plotter.XYs{}
	last := ""
	for _, row := range rows[1:] {
		at := func(name string) string { return row[slices.Index(rows[0], name)] }
		bound, err := strconv.ParseFloat(at("total"), 64)
		if err != nil || at("kind") != "eval" {
			continue
		}
		when, err := strconv.ParseFloat(at(x), 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		model, run := at("model"), at("model")+at("seed")+at("steps")
		if !slices.Contains(models, model) {
			models = append(models, model)
		}
		if run != last {
			lines[model], last = append(lines[model], nil), run
		}
		k := len(lines[model]) - 1
		lines[model][k] = append(lines[model][k], plotter.XY{X: when, Y: bound})
	}
	if len(models) == 0 {
		return nil, nil, fmt.Errorf("%s: has no evaluation with a bound; expected the curves.csv of scripts/experiment-stars.sh", path)
	}
	return lines, models, nil
}
