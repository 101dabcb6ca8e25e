// Package picture is the style of the project's plots, and how they become files.
package picture

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of text, axes and grid, and of the first lines.
var (
	Ink    = color.RGBA{0x26, 0x2b, 0x33, 0xff}
	Grey   = color.RGBA{0x5c, 0x64, 0x70, 0xff}
	Faint  = color.RGBA{0xe4, 0xe7, 0xeb, 0xff}
	Pale   = color.RGBA{0xb9, 0xd0, 0xea, 0xff}
	Blue   = color.RGBA{0x1f, 0x5f, 0xa8, 0xff}
	Orange = color.RGBA{0xd9, 0x5f, 0x0e, 0xff}
)

// Sans is the typeface of all texts.
func Sans(size vg.Length, weight xfont.Weight) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size}
}

// New returns an empty plot in the style of all of them.
func New(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = Sans(16, xfont.WeightBold), Ink
	p.Title.Padding = 12
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle.Width, axis.LineStyle.Color = 0.75, Grey
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = Sans(13, xfont.WeightNormal), Ink
		axis.Label.Padding = 8
		axis.Tick.Label.Font, axis.Tick.Label.Color = Sans(11.5, xfont.WeightNormal), Grey
		axis.Tick.LineStyle.Width, axis.Tick.LineStyle.Color = 0.75, Grey
		axis.Tick.Length = 4
		axis.Padding = 0
	}
	p.Legend.TextStyle.Font, p.Legend.TextStyle.Color = Sans(12.5, xfont.WeightNormal), Ink
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, -8, -6
	p.Legend.Padding, p.Legend.ThumbnailWidth = 5, 26
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = Faint, Faint
	grid.Vertical.Width, grid.Horizontal.Width = 0.75, 0.75
	p.Add(grid)
	return p
}

// Stroke is a line of a width in points.
func Stroke(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

// Dot is a disc with a white rim, so that it stands out from lines below it.
type Dot struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (Dot) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	rim := style
	rim.Color, rim.Radius = color.White, style.Radius+1.2
	draw.CircleGlyph{}.DrawGlyph(c, rim, at)
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
}

// Ring is a circle about a dot.
type Ring struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (Ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	path.Arc(at, style.Radius, 0, 2*math.Pi)
	path.Close()
	c.SetLineStyle(Stroke(style.Color, 1.5))
	c.Stroke(path)
}

// LegendGround wipes what lies under the legend, which is drawn after it.
type LegendGround struct{}

// Plot implements [plot.Plotter].
func (LegendGround) Plot(c draw.Canvas, p *plot.Plot) {
	const pad = 5
	size := p.Legend.Rectangle(c).Size() // its place is that of a legend on the left
	corner := c.Max.Add(vg.Point{X: p.Legend.XOffs + pad, Y: p.Legend.YOffs + pad})
	r := vg.Rectangle{Min: corner.Sub(size).Sub(vg.Point{X: 2 * pad, Y: 2 * pad}), Max: corner}
	c.SetColor(color.NRGBA{0xff, 0xff, 0xff, 0xe0})
	c.Fill(r.Path())
}
