package page_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/view/page"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// spot is a position of a row that grows, as the page is to show it.
type spot struct {
	token        int32
	born, opened int // steps, from 1; 0 = from the start, or not yet
}

const end = 99 // the fixed token that ends each row

// letters read as themselves; the end has a name.
func letters(id int32) (string, bool) {
	switch id {
	case mask:
		return "[MASK]", true
	case end:
		return "[EOS]", true
	}
	return string(rune('a' + id%26)), false
}

// grow writes a page of one row that masks come into and are opened in, some of them leaving again, and returns the row after each of
// its steps, the start first.
func grow(t *testing.T, steps int) (file string, history [][]spot) {
	t.Helper()
	var b bytes.Buffer
	if err := page.Start(&b); err != nil {
		t.Fatal(err)
	}
	id := int32(mask)
	tr := sampling.NewTrace(&b, sampling.TraceHeader{Model: "grow", Sampler: "insertion", MaskID: &id, Growth: &sampling.Growth{Gap: sampling.GapEOS, Cap: 60, A: 1}})
	tr.Spell = letters
	row := []spot{{token: end}}
	frame := func(k int) sampling.Frame {
		f := sampling.Frame{Step: k - 1, Steps: steps, NFE: k}
		for _, s := range row {
			flag := sampling.Flags(0)
			switch s.token {
			case mask:
				flag = sampling.Masked | sampling.Eligible
			case end:
				flag = sampling.Fixed
			}
			f.Tokens, f.Flags, f.Logp = append(f.Tokens, s.token), append(f.Flags, flag), append(f.Logp, -0.5)
		}
		return f
	}
	tr.Admitted(frame(0))
	history = append(history, slices.Clone(row))
	draw := rand.New(rand.NewPCG(1, 2))
	for k := 1; k <= steps; k++ {
		var opened, deleted []int32
		var inserted []sampling.Insertion
		var kept []spot
		guess := make([]int32, len(row))
		for p := range row {
			guess[p] = draw.Int32N(26)
			if row[p].token == mask && (draw.IntN(3) == 0 || k == steps) {
				row[p] = spot{draw.Int32N(26), row[p].born, k}
				opened = append(opened, int32(p))
			} else if row[p].token != end && k%4 == 0 && draw.IntN(6) == 0 {
				deleted = append(deleted, int32(p))
				continue
			}
			kept = append(kept, row[p])
		}
		row = nil
		gaps := map[int]int{}
		for range 1 + draw.IntN(4) {
			gaps[draw.IntN(len(kept))]++
		}
		for g, s := range kept {
			if n := gaps[g]; n > 0 && k < steps {
				inserted = append(inserted, sampling.Insertion{Gap: int32(g), Count: int32(n)})
				row = append(row, slices.Repeat([]spot{{mask, k, 0}}, n)...)
			}
			row = append(row, s)
		}
		f := frame(k)
		f.Opened, f.Deleted, f.Inserted, f.Guess = opened, deleted, inserted, guess
		tr.Stepped(f)
		history = append(history, slices.Clone(row))
	}
	tr.Finished(sampling.Result{Tokens: frame(steps).Tokens, Finish: sampling.FinishLength, NFE: steps, Steps: steps, Capped: 2})
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := page.End(&b); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, history
}

// TestGrowth looks at a row that grows, in a browser, forth and back: every step shows the row as it was, new masks are marked in the
// step that brings them, and a token's panel tells when it came and when it was opened.
func TestGrowth(t *testing.T) {
	b := pagetest.Start(t)
	const steps = 14
	file, history := grow(t, steps)
	p := b.Open(t, file, pagetest.Desktop)
	shows := func(n int) {
		t.Helper()
		var want []string
		fresh := 0
		for _, s := range history[n] {
			text, _ := letters(s.token)
			if s.token == mask {
				text = ""
			}
			if s.born == n && n > 0 {
				fresh++
			}
			want = append(want, text)
		}
		got := pagetest.Get[[]string](p, `[...document.querySelectorAll("#canvas [data-i]")].filter(e => e.getClientRects().length > 0).map(e => e.classList.contains("blank") ? "" : e.textContent)`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after step %d: %s", n, diff)
		}
		if got := p.Count("#canvas .newborn:not([hidden])"); got != fresh {
			t.Errorf("step %d: %d new masks are marked, expected %d", n, got, fresh)
		}
	}
	shows(steps)
	for n := steps - 1; n >= 0; n-- {
		p.Press(kb.ArrowLeft)
		shows(n)
	}
	for n := 1; n <= 6; n++ {
		p.Press(kb.ArrowRight)
		shows(n)
	}
	p.Shoot("growing")

	last := history[steps]
	p.Press(kb.End, "]")
	for i, s := range last[:len(last)-1] {
		if got, want := p.Text("#inspect .facts"), fmt.Sprintf("position%dtoken id%dinserted in step%dopened in step%d", i, s.token, s.born, s.opened); !strings.HasPrefix(got, want) {
			t.Errorf("the panel of %d says %q, expected %q", i, got, want)
		}
		p.Press("]")
	}
	if got := p.Text("#inspect .facts"); !strings.Contains(got, "given, never changed") {
		t.Errorf("the panel of the end says %q", got)
	}
	p.Press("[")
	if got := p.Text("#inspect .history"); !strings.Contains(got, "inserted as a mask") || !strings.Contains(got, " opened, p 0.607") {
		t.Errorf("the history is %q", got)
	}
	p.Press(kb.Home) // what is picked has not come yet
	if got, want := p.Text("#inspect"), fmt.Sprintf("This position comes in step %d.", last[len(last)-2].born); got != want {
		t.Errorf("the panel says %q, expected %q", got, want)
	}
	facts := p.Text("#row-facts")
	for _, want := range []string{fmt.Sprintf("length1 → %d", len(last)), "refused by the capin 2 steps", fmt.Sprintf("tokens per NFE%.1f", float64(len(last)-1)/steps)} {
		if !strings.Contains(facts, want) {
			t.Errorf("the row's facts are %q, expected %q among them", facts, want)
		}
	}
	if got := p.Text("#facts"); !strings.Contains(got, "rows growup to 60") {
		t.Errorf("the facts are %q", got)
	}

	// By birth, a token has the colour of the step that brought it: the same for all that came together, also while it is masked.
	p.Press(kb.End, "c", "c")
	if got := pagetest.Get[string](p, `document.querySelector("[role=radio][aria-checked=true]").id`) + p.Text("#legend"); !strings.HasPrefix(got, "by-birthearlyinserted late") {
		t.Errorf("coloured by %q", got)
	}
	hues := pagetest.Get[[]string](p, `[...document.querySelectorAll("#canvas .open:not([hidden])")].map(e => e.style.getPropertyValue("--h"))`)
	for i, s := range last[:len(last)-1] {
		for j, other := range last[:i] {
			if same := hues[i] == hues[j]; same != (s.born == other.born) {
				t.Errorf("tokens %d and %d, born in steps %d and %d, have hues %s and %s", i, j, s.born, other.born, hues[i], hues[j])
			}
		}
	}
	if c := p.Contrast("#canvas .open:not([hidden])"); c < 4.5 {
		t.Errorf("contrast %.2f", c)
	}
	p.Press(kb.ArrowLeft, kb.ArrowLeft, kb.ArrowLeft)
	if got, want := p.Count("#canvas .blank.dated:not([hidden])"), p.Count("#canvas .blank:not([hidden])"); got != want || got == 0 {
		t.Errorf("%d of %d masks are dated", got, want)
	}
	p.Shoot("births")

	p = b.Open(t, file, pagetest.Screen{Width: 390, Height: 844, Phone: true, Dark: true})
	p.Press(kb.ArrowLeft, kb.ArrowLeft)
	shows(steps - 2)
	if wide := pagetest.Get[int](p, "document.documentElement.scrollWidth"); wide != 390 {
		t.Errorf("the page is %d wide on a phone of 390", wide)
	}
	p.Shoot("growing-phone")
}
