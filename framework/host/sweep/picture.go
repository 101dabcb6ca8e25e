package sweep

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/mdmhost/mdmhost/framework/picture"
)

// colours are told apart by most people who see few (Okabe and Ito's, black last), in this order.
var colours = []color.RGBA{
	picture.Blue, picture.Orange, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x26, 0x2b, 0x33, 0xff},
}

// shapes change when the colours begin anew, and dashes with them.
var (
	shapes = []draw.GlyphDrawer{picture.Dot{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	dashes = [][]vg.Length{nil, {6, 3}, {2, 2}}
)

// drawLines writes quality by forward passes, a line for each series and bars of one standard error, as a PNG picture.
func drawLines(path, title, metric string, lines []Line) error {
	p := picture.New(title)
	p.X.Label.Text, p.Y.Label.Text = "forward passes of a row (NFE, mean)", metric+", mean ± standard error"
	p.X.Scale, p.X.Tick.Marker = log2{}, twos{}
	p.Y.Tick.Marker = picture.LinearTicks{}
	for _, text := range []*font.Font{&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		text.Size *= 1.2 // these pictures are often shown at half their size
	}
	legend := plot.NewLegend()
	legend.TextStyle, legend.Padding, legend.ThumbnailWidth, legend.Top, legend.Left = p.Legend.TextStyle, p.Legend.Padding, p.Legend.ThumbnailWidth, true, true
	var series []string
	for _, l := range lines {
		if !slices.Contains(series, l.Series) {
			series = append(series, l.Series)
		}
	}
	low, high, left, right := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i, name := range series {
		var points errorPoints
		for _, l := range lines {
			m, ok := l.Metrics[metric]
			if l.Series != name || !ok || !(l.NFE.Value > 0) {
				continue
			}
			e := m.Error
			if math.IsNaN(e) {
				e = 0
			}
			points.XYs = append(points.XYs, plotter.XY{X: l.NFE.Value, Y: m.Value})
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{e, e})
			low, high = min(low, m.Value-e), max(high, m.Value+e)
			left, right = min(left, l.NFE.Value), max(right, l.NFE.Value)
		}
		if len(points.XYs) == 0 {
			continue
		}
		points.sort()
		c, round := colours[i%len(colours)], i/len(colours)
		style := picture.Stroke(c, 2)
		style.Dashes = dashes[round%len(dashes)]
		line := &plotter.Line{XYs: points.XYs, LineStyle: style}
		dots := &plotter.Scatter{XYs: points.XYs, GlyphStyle: draw.GlyphStyle{Color: c, Radius: 4, Shape: shapes[round%len(shapes)]}}
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		bars.LineStyle, bars.CapWidth = picture.Stroke(c, 1.25), 6
		p.Add(line, bars, dots)
		legend.Add(name, line, dots)
	}
	if math.IsInf(low, 1) {
		return fmt.Errorf("%s: no point has the metric %q", path, metric)
	}
	margin := max(0.05*(high-low), 1e-3)
	p.Y.Min, p.Y.Max = low-margin, high+margin
	p.X.Min, p.X.Max = left/1.15, right*1.15
	if err := picture.WriteFile(path, p, &legend); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return nil
}

// errorPoints are points with bars.
type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

func (e *errorPoints) sort() {
	at := make([]int, len(e.XYs))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		switch x, y := e.XYs[a].X, e.XYs[b].X; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	var out errorPoints
	for _, i := range at {
		out.XYs, out.YErrors = append(out.XYs, e.XYs[i]), append(out.YErrors, e.YErrors[i])
	}
	*e = out
}

// log2 is a scale on which doubling is a step.
type log2 struct{}

// Normalize implements [plot.Normalizer].
func (log2) Normalize(low, high, x float64) float64 { return math.Log2(x/low) / math.Log2(high/low) }

// twos marks the powers of two.
type twos struct{}

// Ticks implements [plot.Ticker].
func (twos) Ticks(low, high float64) (out []plot.Tick) {
	for e := math.Ceil(math.Log2(low) - 1e-9); math.Exp2(e) <= high*(1+1e-9); e++ {
		out = append(out, plot.Tick{Value: math.Exp2(e), Label: strconv.FormatFloat(math.Exp2(e), 'g', -1, 64)})
	}
	if len(out) > 1 {
		return out
	}
	return picture.LinearTicks{}.Ticks(low, high)
}
