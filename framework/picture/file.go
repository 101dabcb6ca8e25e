package picture

import (
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// The size of every picture.
const (
	width, height = 1200, 700 // pixels
	dpi           = 96
)

// WriteFile draws a plot as a PNG picture of 1200 by 700 pixels, with a legend beside it, unless that is nil. The file is
// replaced in one go.
func WriteFile(path string, p *plot.Plot, beside *plot.Legend) error {
	return wholefile.Replace(path, func(w io.Writer) error { return render(w, p, beside) })
}

func render(w io.Writer, p *plot.Plot, beside *plot.Legend) error {
	c := vgimg.NewWith(vgimg.UseWH(width*vg.Inch/dpi, height*vg.Inch/dpi), vgimg.UseDPI(dpi))
	whole := draw.New(c)
	whole.SetColor(p.BackgroundColor)
	whole.Fill(whole.Rectangle.Path())
	right := vg.Length(28)
	if beside != nil {
		size := beside.Rectangle(whole).Size().X
		right += size
		beside.Draw(draw.Crop(whole, whole.Size().X-size-14, 0, 0, -48))
	}
	p.Draw(draw.Crop(whole, 14, -right, 12, -14))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}
