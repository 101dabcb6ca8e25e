package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
)

// puzzle has 51 blanks.
const puzzle = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"

// traced runs the command with a page as its trace and returns the page and the trace that is in it.
func traced(t *testing.T, args ...string) (string, *trace.Trace) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.html")
	cmd := exec.Command("mdmhost", append([]string{"sample", "--seed", "1", "--trace", file}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	read, err := trace.Open(file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file, read
}

// canvas is what the page shows of a row: the text of every written position, "" where it is masked.
func canvas(p *pagetest.Page) []string {
	return pagetest.Get[[]string](p, `[...document.querySelectorAll("#canvas [data-i]")].map(e => e.classList.contains("blank") ? "" : e.textContent)`)
}

// after is what the trace says that the page should show after n steps.
func after(tr *trace.Trace, r *trace.Row, n int) []string {
	var out []string
	for _, id := range tr.Replay(r, n).Tokens {
		text, _ := tr.Text(id)
		if id == *tr.Header.MaskID {
			text = ""
		}
		out = append(out, text)
	}
	return out
}

// TestPage opens pages of real runs in a real browser and uses them as a person does.
func TestPage(t *testing.T) {
	b := pagetest.Start(t)
	t.Run("grid", func(t *testing.T) { gridPage(t, b) })
	t.Run("revised", func(t *testing.T) { revisedPage(t, b) })
	t.Run("overwritten", func(t *testing.T) { overwrittenPage(t, b) })
	t.Run("killed", func(t *testing.T) { killedPage(t, b) })
}

// legible holds the tokens of both colourings, and the buttons, to the contrast that WCAG 2 asks of text (AA).
func legible(t *testing.T, p *pagetest.Page) {
	t.Helper()
	for range 2 {
		pagetest.Get[bool](p, `document.getAnimations().every(a => { a.finish(); return true; })`)
		for _, selector := range []string{"#canvas .open", ".badge", "[role=radio][aria-checked=true]", ".legend .open"} {
			if c := p.Contrast(selector); c < 4.5 {
				t.Errorf("%s: contrast %.2f", selector, c)
			}
		}
		p.Press("c")
	}
}

func gridPage(t *testing.T, b *pagetest.Browser) {
	file, tr := traced(t, "--model", "sudoku", "--infill", puzzle, "--num", "2", "--planner", "confidence", "--set", "planner.k=3")
	p := b.Open(t, file, pagetest.Desktop)
	shows := func(row, n int) {
		t.Helper()
		if diff := cmp.Diff(after(tr, tr.Rows[row], n), canvas(p)); diff != "" {
			t.Errorf("row %d after step %d: %s", row, n, diff)
		}
	}
	if got := p.Text("#model") + "|" + p.Text("#facts"); !strings.HasPrefix(got, "sudoku|") || !strings.Contains(got, "confidence k=3") || !strings.Contains(got, "seed1") || !strings.Contains(got, "onnx/cpu") {
		t.Errorf("the header says %q", got)
	}
	shows(0, 17)
	p.Press(kb.Home)
	shows(0, 0)
	if n := p.Count("#canvas .blank"); n != 51 {
		t.Errorf("%d blanks at the start", n)
	}
	if n := p.Count("#canvas .given"); n != 30 {
		t.Errorf("%d given", n)
	}
	p.Press(kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowLeft)
	shows(0, 2)
	if n := p.Count("#canvas .now"); n != 3 {
		t.Errorf("%d positions of this step", n)
	}
	if n := p.Count("#canvas .blank b"); n != 45 {
		t.Errorf("%d guesses", n)
	}
	pagetest.Get[bool](p, `(() => { const s = document.getElementById("step"); s.value = 9; return s.dispatchEvent(new Event("input")); })()`)
	shows(0, 9)
	if columns := pagetest.Get[int](p, `new Set([...document.querySelectorAll("#canvas [data-i]")].map(e => e.getBoundingClientRect().left)).size`); columns != 9 {
		t.Errorf("%d columns", columns)
	}

	hue := `getComputedStyle(document.querySelector("#canvas .open:not(.now)")).backgroundColor`
	step := pagetest.Get[string](p, hue)
	p.Press("c")
	p.Await(hue + " !== " + "'" + step + "'")
	if got := pagetest.Get[string](p, `document.getElementById("by-confidence").getAttribute("aria-checked")`); got != "true" {
		t.Errorf("confidence is checked: %s", got)
	}
	legible(t, p)
	p.Click("#by-step")

	opened := tr.Rows[0].Steps[4]
	at := opened.Opened[0][0]
	p.Click(`#canvas [data-i="` + strconv.Itoa(int(at)) + `"]`)
	if got := p.Text("#inspect"); !strings.Contains(got, "opened in step5") || !strings.Contains(got, "probability") || !strings.Contains(got, "nats") {
		t.Errorf("the token's history is %q", got)
	}
	p.Shoot("desktop")

	p.Press("g")
	if n := p.Count("#canvas.as-text"); n != 1 {
		t.Error("g does not turn the grid into text")
	}
	p.Press("g", kb.ArrowDown)
	if got := p.Text("#row-title"); got != "Row 1" {
		t.Errorf("after the arrow: %q", got)
	}
	shows(1, 9)
	p.Press("?")
	if !pagetest.Get[bool](p, `document.getElementById("help").open`) {
		t.Error("? does not show the keys")
	}
	p.Press(kb.Escape, kb.Home, "+", "+", " ")
	p.Await(`document.getElementById("at").textContent === "17 / 17" && !document.getElementById("play").classList.contains("on")`)
	shows(1, 17)

	p = b.Open(t, file, pagetest.Phone)
	p.Press(kb.ArrowLeft, kb.ArrowLeft, kb.ArrowLeft, kb.ArrowLeft)
	shows(0, 13)
	if wide := pagetest.Get[int](p, "document.documentElement.scrollWidth"); wide != 390 {
		t.Errorf("the page is %d wide on a phone of 390", wide)
	}
	if small := pagetest.Get[[]string](p, `[...document.querySelectorAll("button, select, input")].filter(e => e.offsetParent && !e.closest("#canvas") && Math.min(e.getBoundingClientRect().height, e.getBoundingClientRect().width) < 40).map(e => e.id)`); len(small) > 0 {
		t.Errorf("too small for a finger: %q", small)
	}
	p.Shoot("phone")
	p.Click("#rows-open")
	p.Click("#row-1")
	shows(1, 13)
}

// The planner of molecule masks positions again.
func revisedPage(t *testing.T, b *pagetest.Browser) {
	file, tr := traced(t, "--num", "4")
	row, step := -1, 0
	for i, r := range tr.Rows {
		for k, s := range r.Steps {
			if len(s.Remasked) > 0 {
				row, step = i, k+1
			}
		}
	}
	if row < 0 {
		t.Fatal("no position was masked again")
	}
	p := b.Open(t, file, pagetest.Screen{Width: 1280, Height: 760, Dark: true})
	for range row {
		p.Press(kb.ArrowDown)
	}
	p.Press(kb.Home)
	for range step {
		p.Press(kb.ArrowRight)
	}
	if diff := cmp.Diff(after(tr, tr.Rows[row], step), canvas(p)); diff != "" {
		t.Error(diff)
	}
	if n := p.Count("#canvas .remasked.now"); n != len(tr.Rows[row].Steps[step-1].Remasked) {
		t.Errorf("%d positions are marked as masked again", n)
	}
	at := tr.Rows[row].Steps[step-1].Remasked[0]
	p.Click(`#canvas [data-i="` + strconv.Itoa(int(at)) + `"]`)
	if got := p.Text("#inspect .history"); !strings.Contains(got, "masked again") {
		t.Errorf("the history is %q", got)
	}
	p.Shoot("dark")
	p.Press(kb.End)
	legible(t, p)
	if n := p.Count("#canvas .revised"); n == 0 {
		t.Error("no position is marked as written again")
	}
}

// The planner edit overwrites tokens: they are marked, the legend says so, the token's panel tells what stood there, and the
// curve of what was opened leaves them out.
func overwrittenPage(t *testing.T, b *pagetest.Browser) {
	file, tr := traced(t, "--model", "molecule", "--length", "12", "--planner", "edit", "--set", "planner.threshold=0.3",
		"--set", "planner.editing_threshold=0.4", "--steps", "60", "--temperature", "0")
	row := tr.Rows[0]
	step, at, was := 0, int32(0), int32(0)
	for k, s := range row.Steps {
		before := tr.Replay(row, k).Tokens
		for _, w := range s.Opened {
			if step == 0 && before[w[0]] != *tr.Header.MaskID {
				step, at, was = k+1, w[0], before[w[0]]
			}
		}
	}
	if step == 0 {
		t.Fatal("no position was overwritten")
	}
	point := tr.Summarise(row).Rows[0].Timeline[step-1]
	p := b.Open(t, file, pagetest.Screen{Width: 1280, Height: 760})
	p.Press(kb.Home)
	for range step {
		p.Press(kb.ArrowRight)
	}
	if diff := cmp.Diff(after(tr, row, step), canvas(p)); diff != "" {
		t.Error(diff)
	}
	if n := p.Count("#canvas .overwritten.now"); n != point.Overwritten {
		t.Errorf("%d positions are marked as overwritten, expected %d", n, point.Overwritten)
	}
	p.Click(`#canvas [data-i="` + strconv.Itoa(int(at)) + `"]`)
	text, _ := tr.Text(was)
	if got, want := p.Text("#inspect .facts"), fmt.Sprintf("overwrittenin step %d, was %s", step, text); !strings.Contains(got, want) {
		t.Errorf("the panel says %q, expected %q", got, want)
	}
	if got := p.Text("#inspect .history"); !strings.Contains(got, " overwrote "+text) {
		t.Errorf("the history is %q", got)
	}
	if got := p.Text("#legend"); !strings.Contains(got, "overwritten") || strings.Contains(got, "masked again") {
		t.Errorf("the legend says %q", got)
	}
	if got, want := p.Text("#row-facts"), fmt.Sprintf("overwritten%d", tr.Summarise().Rows[0].Overwritten); !strings.Contains(got, want) {
		t.Errorf("the row's facts are %q, expected %q among them", got, want)
	}
	if got, want := p.Text("#curves figure:last-of-type"), fmt.Sprintf("Tokens opened, and overwritten below, per step%d ~ %d", point.Opened, point.Overwritten); !strings.HasPrefix(got, want) {
		t.Errorf("the curve says %q, expected %q", got, want)
	}
	p.Shoot("overwritten")
	legible(t, p)
}

// A run that is killed without a word leaves a page of what there was.
func killedPage(t *testing.T, b *pagetest.Browser) {
	file := filepath.Join(t.TempDir(), "run.html")
	cmd := exec.Command("mdmhost", "sample", "--model", "rxnmapper-albert", "--length", "300", "--num", "100", "--batch", "2", "--seed", "1", "--trace", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // the deadline only ends a run that hangs
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), `{"event":"step","row":1`) {
			break
		}
		if time.Now().After(deadline) {
			t.Error("no step was written")
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	p := b.Open(t, file, pagetest.Phone)
	if n := p.Count(".item"); n != 2 {
		t.Errorf("%d rows", n)
	}
	if got := p.Text("#finish") + " " + p.Text("#notices"); !strings.HasPrefix(got, "unfinished") || !strings.Contains(got, "98 of the run's 100 rows were never begun") {
		t.Errorf("it says %q", got)
	}
	if n := p.Count("#canvas .open"); n == 0 {
		t.Error("nothing of what was written is shown")
	}
}
