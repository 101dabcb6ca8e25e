package curve

import (
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"github.com/mdmhost/mdmhost/framework/picture"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// run looks like a run: noise about a power law, a hole where the loss was not finite, an evaluation now and then.
func run(steps, every int64) (lines []record.Line) {
	random := rand.New(rand.NewPCG(1, 2))
	bits := func(step int64) float64 { return 1.3 + 3.4*math.Pow(1+float64(step)/40, -0.45) }
	for step := every; step <= steps; step += every {
		noise := 0.12 * random.NormFloat64()
		if random.IntN(150) == 0 {
			noise = 1.5
		}
		if step > steps/3 && step < steps/3+4*every {
			noise = math.NaN()
		}
		lines = append(lines, record.Line{Kind: record.Train, Step: step, BitsPerToken: bits(step) + noise})
		if step%(20*every) == 0 {
			lines = append(lines, record.Line{Kind: record.Eval, Step: step, BitsPerToken: bits(step) + 0.08 + 1e-9*float64(step*step)})
		}
	}
	return lines
}

// To look at the pictures: KEEP_CURVES=DIR go test ./framework/training/record/curve
func folder(t *testing.T) string {
	if dir := os.Getenv("KEEP_CURVES"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func TestPictures(t *testing.T) {
	dir := folder(t)
	for name, c := range map[string]struct {
		lines []record.Line
		o     Options
		has   []color.RGBA
	}{
		"linear":    {run(20000, 50), Options{Title: "text: md4 on Dickens, 2.2 M parameters"}, []color.RGBA{picture.Blue, picture.Pale, picture.Orange}},
		"log":       {run(20000, 50), Options{Title: "text: md4 on Dickens, 2.2 M parameters", Log: true, Unit: "bits per character"}, []color.RGBA{picture.Blue, picture.Pale, picture.Orange}},
		"short":     {run(7, 1), Options{Title: "seven steps"}, []color.RGBA{picture.Blue}},
		"one":       {[]record.Line{{Kind: record.Eval, Step: 3, BitsPerToken: 2.5}}, Options{}, []color.RGBA{picture.Orange}},
		"zero, log": {[]record.Line{{Kind: record.Eval, Step: 3, BitsPerToken: 2.5}, {Kind: record.Eval, Step: 4, BitsPerToken: 0}}, Options{Log: true}, []color.RGBA{picture.Orange}},
		"flat":      {[]record.Line{{Kind: record.Train, Step: 0}, {Kind: record.Train, Step: 1}}, Options{}, []color.RGBA{picture.Blue}},
	} {
		path := filepath.Join(dir, name+".png")
		if err := WriteFile(path, c.lines, c.o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if size := picture.Bounds().Size(); size != image.Pt(1200, 700) {
			t.Errorf("%s: size %v", name, size)
		}
		for _, want := range c.has {
			if !holds(picture, want) {
				t.Errorf("%s: nothing is drawn in colour %v", name, want)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func holds(picture image.Image, c color.RGBA) bool {
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) == c {
				return true
			}
		}
	}
	return false
}

func TestNothingToDraw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "curve.png")
	err := WriteFile(path, []record.Line{{Kind: record.Train, BitsPerToken: math.NaN()}}, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), path+": no line has a finite number of bits per token") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a picture was written")
	}
}

func TestSmooth(t *testing.T) {
	var line, noise plotter.XYs
	for i := range 1000 {
		line = append(line, plotter.XY{X: float64(i), Y: float64(i)})
		noise = append(noise, plotter.XY{X: float64(i), Y: float64(i % 2)})
	}
	smoothed := smooth(line)
	for i, p := range smoothed[:900] { // a straight line stays, but where the end is near
		if math.Abs(p.Y-line[i].Y) > 1e-9 {
			t.Fatalf("point %d became %g", i, p.Y)
		}
	}
	for i, p := range smooth(noise)[100:] {
		if math.Abs(p.Y-0.5) > 0.03 {
			t.Fatalf("point %d became %g", i, p.Y)
		}
	}
	if diff := cmp.Diff(line[:49], smooth(line[:49])); diff != "" {
		t.Error(diff)
	}
}
