package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	glyph "gonum.org/v1/plot/vg/draw"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/picture"
)

// How many tokens of either end are shown of a large vocabulary.
const (
	listedEnds = 10
	drawnEnds  = 32
)

// printExponents lists the learned speeds, the largest first.
func printExponents(w io.Writer, all []model.Exponent) {
	if len(all) == 0 {
		return
	}
	mean := 0.0
	for _, e := range all {
		mean += float64(e.W) / float64(len(all))
	}
	fmt.Fprintf(w, "exponents\t%d tokens, w from %.4g to %.4g, mean %.4g; a token is masked at time t with probability t^w: large = written early\n",
		len(all), all[len(all)-1].W, all[0].W, mean)
	early, late := ends(all, listedEnds)
	for _, e := range early {
		fmt.Fprintf(w, "w %.4f\t%s\n", e.W, visible(e.Token))
	}
	if left := len(all) - len(early) - len(late); left > 0 {
		fmt.Fprintf(w, "...\t%d more; --json has all\n", left)
	}
	for _, e := range late {
		fmt.Fprintf(w, "w %.4f\t%s\n", e.W, visible(e.Token))
	}
}

// ends are at most n of either end of the list; a short list is whole in the first.
func ends(all []model.Exponent, n int) (first, last []model.Exponent) {
	if len(all) <= 2*n {
		return all, nil
	}
	return all[:n], all[len(all)-n:]
}

// visible spells a token in a few characters that can be seen.
func visible(token string) string {
	if word := map[string]string{" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}[token]; word != "" {
		return word
	}
	runes := []rune(token)
	if slices.ContainsFunc(runes, func(r rune) bool { return r == ' ' || !strconv.IsPrint(r) }) {
		runes = []rune(strconv.Quote(token))
	}
	if len(runes) > 16 {
		return string(runes[:15]) + "…"
	}
	return string(runes)
}

// drawExponents draws the learned speeds, the largest first; of a large vocabulary those of either end.
func drawExponents(path string, d *model.Description) error {
	if len(d.Exponents) == 0 {
		return fmt.Errorf("model %s: has no learned speeds to draw; expected a model of trainer genmd4", d.Name)
	}
	early, late := ends(d.Exponents, drawnEnds)
	p := picture.New("Learned speeds of the tokens: " + d.Name)
	p.X.Label.Text, p.Y.Label.Text = "token", "exponent w; large = written early"
	var points plotter.XYs
	var marks []plot.Tick
	add := func(at int, e model.Exponent) {
		points = append(points, plotter.XY{X: float64(at), Y: float64(e.W)})
		marks = append(marks, plot.Tick{Value: float64(at), Label: visible(e.Token) + "   "}) // off the axis
	}
	for i, e := range early {
		add(i, e)
	}
	for i, e := range late {
		add(len(early)+1+i, e)
	}
	if late != nil {
		p.X.Label.Text = fmt.Sprintf("token: %d of either end, of %d", drawnEnds, len(d.Exponents))
	}
	low, high := min(float64(d.Exponents[len(d.Exponents)-1].W), 1), max(float64(d.Exponents[0].W), 1)
	p.X.Min, p.X.Max = -1, points[len(points)-1].X+1
	p.Y.Min, p.Y.Max = low/1.04, high*1.04
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, picture.LogTicks{}
	p.X.Tick.Marker = plot.ConstantTicks(marks)
	p.X.Tick.Label.Rotation = math.Pi / 2
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = glyph.XRight, glyph.YCenter
	for _, at := range points { // a thread to 1, the speed of MD4
		p.Add(&plotter.Line{XYs: plotter.XYs{{X: at.X, Y: 1}, at}, LineStyle: picture.Stroke(picture.Pale, 2)})
	}
	one := &plotter.Line{XYs: plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}}, LineStyle: picture.Stroke(picture.Grey, 1)}
	p.Add(one, &plotter.Scatter{XYs: points, GlyphStyle: glyph.GlyphStyle{Color: picture.Blue, Radius: 4, Shape: picture.Dot{}}})
	if err := picture.WriteFile(path, p, nil); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return nil
}
