// Package curve draws the loss curve of a training run as a picture.
package curve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/mdmhost/mdmhost/framework/picture"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// Options say how to draw.
type Options struct {
	Title string
	Unit  string // what the y axis counts, "bits per token" by default
	Log   bool   // a logarithmic y axis
}

// WriteFile draws the bits per token of a run's lines, by step, as a PNG picture of 1200 by 700 pixels: training as it is
// (faint) and smoothed, evaluations as dots with a ring about the best. The file is replaced in one go. Lines without
// any finite number are an error.
func WriteFile(path string, lines []record.Line, o Options) error {
	p, err := build(lines, o)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := picture.WriteFile(path, p, nil); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return nil
}

func build(lines []record.Line, o Options) (*plot.Plot, error) {
	training, evaluations := points(lines, record.Train, o.Log), points(lines, record.Eval, o.Log)
	if len(training)+len(evaluations) == 0 {
		return nil, errors.New("no line has a finite number of bits per token, so there is no curve to draw; train for longer or look for what made the loss infinite")
	}
	p := picture.New(o.Title)
	smoothed := drawTraining(p, training)
	drawEvaluations(p, evaluations)
	axes(p, o, append(smoothed, evaluations...))
	p.Add(picture.LegendGround{})
	return p, nil
}

// drawTraining draws the points of training and, where they are enough to smooth them, the smoothed line over them. It
// returns the more telling of the two.
func drawTraining(p *plot.Plot, parts []plotter.XYs) []plotter.XYs {
	var smoothed []plotter.XYs
	same := true
	for _, part := range parts {
		smoothed = append(smoothed, smooth(part))
		same = same && slices.Equal(part, smoothed[len(smoothed)-1])
	}
	if same {
		drawLines(p, parts, "training", picture.Stroke(picture.Blue, 2))
		return parts
	}
	drawLines(p, parts, "training", picture.Stroke(picture.Pale, 1))
	drawLines(p, smoothed, "training, smoothed", picture.Stroke(picture.Blue, 2))
	return smoothed
}

func drawLines(p *plot.Plot, parts []plotter.XYs, name string, style draw.LineStyle) {
	for i, part := range parts {
		line := &plotter.Line{XYs: part, LineStyle: style}
		p.Add(line)
		if i == 0 {
			p.Legend.Add(name, line)
		}
	}
}

// drawEvaluations draws dots, the least of them with a ring about it and its value in the legend.
func drawEvaluations(p *plot.Plot, parts []plotter.XYs) {
	all := slices.Concat(parts...)
	if len(all) == 0 {
		return
	}
	best := slices.MinFunc(all, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) })
	for _, part := range parts {
		p.Add(&plotter.Line{XYs: part, LineStyle: picture.Stroke(picture.Orange, 1.25)})
	}
	dots := &plotter.Scatter{XYs: all, GlyphStyle: draw.GlyphStyle{Color: picture.Orange, Radius: 3, Shape: picture.Dot{}}}
	mark := &plotter.Scatter{XYs: plotter.XYs{best}, GlyphStyle: draw.GlyphStyle{Color: picture.Orange, Radius: 6, Shape: picture.Ring{}}}
	p.Add(dots, mark)
	p.Legend.Add(fmt.Sprintf("evaluation, best %.4g at step %s", best.Y, picture.Label(best.X)), &plotter.Line{LineStyle: picture.Stroke(picture.Orange, 1.25)}, dots)
}

// axes sets ranges and marks. The range of y is that of the smoothed curve and the evaluations; what leaves it is cut off.
func axes(p *plot.Plot, o Options, shown []plotter.XYs) {
	p.X.Label.Text = "step"
	p.X.Tick.Marker = picture.LinearTicks{Whole: true}
	p.X.Min = math.Min(p.X.Min, 0)
	if p.X.Max <= p.X.Min {
		p.X.Max = p.X.Min + 1
	}
	p.Y.Label.Text = o.Unit
	if o.Unit == "" {
		p.Y.Label.Text = "bits per token"
	}
	if high := ceiling(shown, p.X.Max); high > p.Y.Min {
		p.Y.Max = math.Min(p.Y.Max, high)
	}
	if p.Y.Max <= p.Y.Min { // all values are the same
		p.Y.Min, p.Y.Max = p.Y.Min-0.05*math.Abs(p.Y.Min), p.Y.Max+0.05*math.Abs(p.Y.Max)
	}
	if p.Y.Max <= p.Y.Min { // and all are 0
		p.Y.Min, p.Y.Max = -1, 1
	}
	if o.Log {
		margin := math.Pow(p.Y.Max/p.Y.Min, 0.05)
		p.Y.Min, p.Y.Max = p.Y.Min/margin, p.Y.Max*margin
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.LogTicks{}
		return
	}
	margin := 0.05 * (p.Y.Max - p.Y.Min)
	p.Y.Min, p.Y.Max = p.Y.Min-margin, p.Y.Max+margin
	p.Y.Tick.Marker = picture.LinearTicks{}
}
