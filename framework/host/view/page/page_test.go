package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/view/page"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// hostile are texts of tokens that want to be more than text.
var hostile = []string{
	`</script><img src=x onerror=alert(1)>`, `<!--<script>`, `"><svg onload=document.body.remove()>`, "\u2028\u2029\u0000\u001b[31m", "\u202eevil\u202c",
	`\u003c/script>`, "${alert(1)}", "`", "'", "&lt;b&gt;", "\n", "", strings.Repeat("x", 300), "ü漢😀", "__proto__", "[MASK]",
}

const mask = 100

// write makes a page of rows, each of which opens its positions one a step from the left.
func write(t *testing.T, header sampling.TraceHeader, limit int64, rows, length int, spell sampling.Spell) (string, *sampling.Trace) {
	t.Helper()
	var b bytes.Buffer
	if err := page.Start(&b); err != nil {
		t.Fatal(err)
	}
	id := int32(mask)
	header.MaskID, header.Rows = &id, rows
	tr := sampling.NewTrace(&b, header)
	tr.Spell, tr.Limit = spell, limit
	for r := range rows {
		tokens, flags := make([]int32, length), make([]sampling.Flags, length)
		entropy, logp, guess := make([]float32, length), make([]float32, length), make([]int32, length)
		for i := range tokens {
			tokens[i], flags[i], entropy[i], logp[i] = mask, sampling.Masked|sampling.Eligible, 1.5, -0.25
		}
		tr.Admitted(sampling.Frame{Index: int64(r), Tokens: tokens, Flags: flags, Steps: length})
		for k := range length {
			tokens[k], flags[k] = int32((r+k)%len(hostile)), 0
			for i := range guess {
				guess[i] = int32((r + i + k) % len(hostile))
			}
			tr.Stepped(sampling.Frame{Index: int64(r), Step: k, NFE: k + 1, Tokens: tokens, Flags: flags, Opened: []int32{int32(k)}, Entropy: entropy, Logp: logp, Guess: guess})
		}
		tr.Finished(sampling.Result{Index: int64(r), Tokens: tokens, Finish: sampling.FinishComplete, NFE: length, Steps: length})
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := page.End(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tr
}

func spellHostile(id int32) (string, bool) {
	if id == mask {
		return hostile[0], true
	}
	return hostile[id], false
}

// TestPages opens them in a browser.
func TestPages(t *testing.T) {
	b := pagetest.Start(t)
	for name, test := range map[string]func(*testing.T, *pagetest.Browser){
		"hostile tokens": hostileTokens, "ends early": endsEarly, "many rows": manyRows, "limit": limited,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// Tokens are anybody's: their texts stay texts, in the rows, on the canvas and in the history, and the trace is read back as it
// was.
func hostileTokens(t *testing.T, b *pagetest.Browser) {
	name := `<img src=x onerror=alert(2)>`
	file, _ := write(t, sampling.TraceHeader{Model: name, Planner: name, Options: map[string]any{name: name}, Sampler: name}, 0, 3, len(hostile), spellHostile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, _, is := page.Trace(text)
	if !is || bytes.ContainsAny(lines, "<>") {
		t.Fatalf("the trace has markup: %v", is)
	}
	pieces := map[int32]string{}
	for line := range bytes.Lines(lines) {
		var e sampling.TraceEvent
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		for id, text := range e.Pieces {
			pieces[id] = text
		}
	}
	for i, want := range hostile {
		if diff := cmp.Diff(want, pieces[int32(i)]); diff != "" {
			t.Errorf("token %d: %s", i, diff)
		}
	}

	p := b.Open(t, file, pagetest.Desktop)
	if n := p.Count("img, #canvas svg, .list svg"); n != 0 {
		t.Errorf("%d elements came out of texts", n)
	}
	if got := p.Text("#model"); got != name {
		t.Errorf("model %q", got)
	}
	if got := p.Text(`#canvas [data-i="0"]`); got != hostile[0] {
		t.Errorf("token 0 reads %q", got)
	}
	if got := p.Text(`#canvas [data-i="3"]`); got != "⟨U+2028⟩⟨U+2029⟩␀␛[31m" {
		t.Errorf("controls read %q", got)
	}
	if got := p.Text(`#canvas [data-i="4"]`); got != "⟨U+202E⟩evil⟨U+202C⟩" {
		t.Errorf("an override reads %q", got)
	}
	p.Press("]", "[")
	if got := p.Text("#inspect .history q"); got != hostile[0] {
		t.Errorf("the history reads %q", got)
	}
	for range 3 {
		p.Press("c")
	}
	p.Shoot("hostile")
}

// A page that ends anywhere, as a killed run leaves it, shows what there was and says so.
func endsEarly(t *testing.T, b *pagetest.Browser) {
	file, _ := write(t, sampling.TraceHeader{Model: "m"}, 0, 4, 8, spellHostile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, before, _ := page.Trace(whole)
	start := 0
	for range before {
		start += bytes.IndexByte(whole[start:], '\n') + 1
	}
	second := bytes.Index(whole, []byte(`"event":"row","row":1`))
	for _, c := range []struct {
		name string
		at   int
		rows int
		says string
	}{
		{"before the first row", start + 60, 0, "This page holds no trace"},
		{"within a step of row 1", second + 900, 2, "The page ends in the middle of a line"},
		{"without its end", bytes.LastIndex(whole, []byte("</script>")), 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cut := filepath.Join(t.TempDir(), "cut.html")
			if err := os.WriteFile(cut, whole[:c.at], 0o600); err != nil {
				t.Fatal(err)
			}
			p := b.Open(t, cut, pagetest.Desktop)
			if n := p.Count(".item"); n != c.rows {
				t.Errorf("%d rows, expected %d", n, c.rows)
			}
			if text := p.Text("#notices"); !strings.Contains(text, c.says) || c.says == "" && text != "" {
				t.Errorf("it says %q, expected %q", text, c.says)
			}
		})
	}
}

// A thousand rows of a hundred steps: every row is there, and scrubbing through one changes nothing but what the step changed.
func manyRows(t *testing.T, b *pagetest.Browser) {
	letters := func(id int32) (string, bool) { return string(rune('a' + id%26)), id == mask }
	file, tr := write(t, sampling.TraceHeader{Model: "big", Grid: &sampling.TraceGrid{Rows: 10, Cols: 10}}, page.Limit, 1000, 100, letters)
	if tr.LeftOut() != 0 {
		t.Fatalf("%d rows left out", tr.LeftOut())
	}
	p := b.Open(t, file, pagetest.Desktop)
	if n := p.Count(".item"); n != 1000 {
		t.Errorf("%d rows", n)
	}
	t.Logf("the page was ready after %.0f ms", pagetest.Get[float64](p, `performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`))
	p.Click("#row-next")
	if got := p.Text("#row-title"); got != "Row 1" {
		t.Errorf("%q", got)
	}
	changed := pagetest.Get[int](p, `(() => {
		let n = 0;
		const seen = new MutationObserver(list => { n += new Set(list.map(m => m.target)).size; });
		document.getElementById("back").click();
		seen.observe(document.getElementById("canvas"), {subtree: true, childList: true});
		document.getElementById("back").click();
		n += new Set(seen.takeRecords().map(m => m.target)).size;
		return n;
	})()`)
	if changed > 60 { // two that were opened, and the guesses
		t.Errorf("one step changed %d of 100 positions", changed)
	}
	p.Press("\ue010") // unknown keys do nothing
	pagetest.Get[bool](p, `(document.getElementById("filter").value = "999", document.getElementById("filter").dispatchEvent(new Event("input")), true)`)
	if n := p.Count(".item:not([hidden])"); n != 1 {
		t.Errorf("the filter leaves %d rows", n)
	}
	p.Shoot("many")
}

// What a page has no room for is counted and said.
func limited(t *testing.T, b *pagetest.Browser) {
	file, tr := write(t, sampling.TraceHeader{Model: "m"}, 20_000, 40, 16, spellHostile)
	if tr.LeftOut() == 0 {
		t.Fatal("nothing was left out")
	}
	p := b.Open(t, file, pagetest.Phone)
	if n := p.Count(".item"); n != 40-tr.LeftOut() {
		t.Errorf("%d rows and %d left out of 40", n, tr.LeftOut())
	}
	if text := p.Text("#notices"); !strings.Contains(text, fmt.Sprintf("%d further rows are left out", tr.LeftOut())) {
		t.Errorf("it says %q", text)
	}
}
