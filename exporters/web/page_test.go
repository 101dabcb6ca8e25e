package web_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
)

const sudokuRun = "infill=" + puzzle + "&planner=confidence&temperature=0"

func query(t *testing.T, text string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The page shows grids as grids and text as text, on a desk and on a phone, by day and by night. PAGE_PICTURES keeps the pictures.
func TestPagePictures(t *testing.T) {
	b := pagetest.Start(t)
	dark, phone := pagetest.Desktop, pagetest.Phone
	dark.Dark = true
	for _, c := range []struct {
		picture, model, params string
		screen                 pagetest.Screen
	}{
		{"web-sudoku", "sudoku", sudokuRun, pagetest.Desktop},
		{"web-sudoku-phone", "sudoku", sudokuRun, phone},
		{"web-molecule", "molecule", "prompt=CC(=O)N&length=30&temperature=0.9&planner=p2&seed=4", pagetest.Desktop},
		{"web-text", "text", "prompt=The+old+clerk+&length=90&seed=2", dark},
		{"web-insertion", "molecule-insertion", "prompt=&seed=5", pagetest.Desktop},
	} {
		p, r := sampled(t, b, page(t, c.model), query(t, c.params), c.screen)
		if got := p.Count("#canvas .t.open") + p.Count("#canvas .t.given"); got != len(r.Tokens) {
			t.Errorf("%s: %d cells for %d tokens", c.picture, got, len(r.Tokens))
		}
		if p.Text("#text") != r.Text || p.Count("#copy:enabled") != 1 {
			t.Errorf("%s: the text is %q, expected %q, to be copied", c.picture, p.Text("#text"), r.Text)
		}
		if least := p.Contrast("#canvas .t.open"); least < 4.5 {
			t.Errorf("%s: a contrast of %.2f on the canvas, expected 4.5 (WCAG AA)", c.picture, least)
		}
		p.Shoot(c.picture)
	}
}

// Escape and the button stop a row in its course: what is written stays, the rest stays blank, and the next run goes on as if nothing was.
func TestPageStops(t *testing.T) {
	b := pagetest.Start(t)
	address := page(t, "sudoku")
	p := b.Visit(t, address+"?"+sudokuRun+"&pause=400&run=1", address, pagetest.Desktop)
	for _, how := range []string{"button", "key"} {
		p.Await(`document.querySelectorAll("#canvas .t.open").length >= 2 && !document.querySelector("#run:enabled")`)
		if p.Count("#canvas .t.guess") == 0 {
			t.Error("no position is shown as proposed")
		}
		p.Shoot("web-midway")
		if how == "key" {
			p.Press(kb.Escape)
		} else {
			p.Click("#stop")
		}
		p.Await("window.mdmhost.result")
		r := pagetest.Get[result](p, "window.mdmhost.result")
		if !r.Stopped || r.Blanks == 0 || r.NFE < 2 || r.NFE > 50 {
			t.Errorf("%s: stopped with %+v", how, r)
		}
		if said := p.Text("#problem"); !strings.Contains(said, "still blank") {
			t.Errorf("%s: the page says %q", how, said)
		}
		if how == "button" {
			p.Click("#run")
			p.Await(`document.querySelectorAll("#canvas .t.open").length <= 1`)
		}
	}
	if r, problem := again(p, query(t, sudokuRun+"&pause=0")); r.Blanks != 0 || r.NFE != 51 {
		t.Errorf("the next run ends with %+v and says %q, expected 51 passes and no blank", r, problem)
	}
}

// What cannot be sampled is said in the page, which goes on working.
func TestPageProblems(t *testing.T) {
	b := pagetest.Start(t)
	type problem struct{ params, says string }
	for model, problems := range map[string][]problem{
		"sudoku": {
			{"infill=53x", "not in the vocabulary"},
			{"infill=", "found nothing"},
			{"infill=" + puzzle + "1", "expected at most 81"},
			{"infill=" + puzzle + "&seed=18446744073709551616", "below 2^64"},
			{"seed=", "seed: nothing, expected a whole number"},
			{"seed=1&planner=eb&gamma=none", "gamma: nothing, expected a number"},
			{"planner=eb&max_entropy=much", "max_entropy: much, expected a number"},
			{"planner=eb&gamma=1&max_entropy=inf&max_per_step=1&min_per_step=2", "expected at least min_per_step"},
			{"planner=p2&temperature=-2", "temperature: -2"},
			{"temperature=0&top_p=0&planner=confidence", "top_p: expected a number above 0"},
			{"top_p=1&steps=1.5", "steps: 1.5, expected a whole number"},
			{"steps=6", ""},
		},
		"molecule": {
			{"prompt=C[MASK]", "only continued"},
			{"prompt=CC&length=400", "expected at most"},
			{"prompt=CC&length=4", ""},
		},
	} {
		address := page(t, model)
		p := b.Visit(t, address, address, pagetest.Desktop)
		p.Await(`document.querySelector("#run:enabled")`)
		for _, c := range problems {
			if _, said := again(p, query(t, c.params)); !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
				t.Errorf("%s: the page says %q, expected %q", c.params, said, c.says)
			}
		}
		p.Forgive("cannot be parsed") // fields for numbers that a test puts something else into
	}
}

// A file that is not there is named, and so is what to do.
func TestPageWithoutItsGraph(t *testing.T) {
	b, dir := pagetest.Start(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(exported(t, "stars"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "onnx", "model.onnx")); err != nil {
		t.Fatal(err)
	}
	address := serve(t, dir)
	p := b.Visit(t, address, address, pagetest.Desktop)
	p.Await(`!document.getElementById("problem").hidden`)
	if said := p.Text("#problem"); !strings.Contains(said, "onnx/model.onnx: the server answers 404") || !strings.Contains(said, "copy the whole folder") {
		t.Errorf("the page says %q", said)
	}
	p.Forgive("404")
}

// Opened from the disk the page cannot start, and says what to do.
func TestPageFromTheDisk(t *testing.T) {
	b := pagetest.Start(t)
	p := b.Visit(t, "file://"+filepath.Join(exported(t, "stars"), "index.html"), "file:", pagetest.Desktop)
	p.Await(`getComputedStyle(document.getElementById("asleep")).opacity === "1"`)
	if said := p.Text("#asleep"); !strings.Contains(said, "python3 -m http.server") {
		t.Errorf("the page says %q", said)
	}
	p.Shoot("web-disk")
	p.Forgive("")
}

// A link that the page makes gives the same row, with every setting in it; while the model loads the page answers.
func TestPageLinks(t *testing.T) {
	b := pagetest.Start(t)
	address := page(t, "molecule")
	p, want := sampled(t, b, address, query(t, "prompt=CCO&length=20&temperature=0.7&planner=p2&eta=1.5&seed=99&row=2&top_p=0.95"), pagetest.Desktop)
	pagetest.Get[bool](p, `window.copied = null, Object.defineProperty(navigator, "clipboard", {value: {writeText: async text => { window.copied = text; }}}), true`)
	p.Click("#link")
	p.Await("window.copied")
	link := pagetest.Get[string](p, "window.copied")
	for _, part := range []string{"prompt=CCO", "length=20", "planner=p2", "eta=1.5", "kappa=linear", "temperature=0.7", "top_p=0.95", "seed=99", "row=2", "run=1"} {
		if !strings.Contains(link, part) {
			t.Errorf("the link %s lacks %s", link, part)
		}
	}
	_, query, _ := strings.Cut(link, "?")
	again, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := sampled(t, b, address, again, pagetest.Desktop); got.Text != want.Text || got.NFE != want.NFE {
		t.Errorf("the link gives %+v, expected %+v", got, want)
	}
	p.Click("#copy")
	p.Await(`window.copied === window.mdmhost.result.text`)
}
