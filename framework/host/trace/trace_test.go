package trace_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/host/view/page"
)

const header = `{"trace":1,"seed":7,"model":"toy","sampler":"masked","planner":"eb","options":{"gamma":0.1},"provider":"onnx/cpu, 1 thread","mask_id":9,"rows":2,"grid":{"rows":2,"cols":2}}
`

// toy has two rows of four positions; in row 0 position 1 is opened, masked again and opened anew; row 1 was killed.
const toy = header +
	`{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"0":"a","1":"b","2":"\u001b[31mred\n","3":"[SEP]","9":"[MASK]"},"special":[3,9]}
{"event":"row","row":1,"step":0,"nfe":0,"tokens":[9,9,9,9]}
{"event":"row","row":0,"step":0,"nfe":0,"tokens":[0,9,9,3]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,0]],"logp":[-0.5],"entropies":[0.7],"entropy":1.25,"guess":[[2,1]]}
{"event":"step","row":1,"step":0,"nfe":1,"opened":[[0,1],[3,2]],"logp":[null,-0.1]}
{"event":"step","row":0,"step":2,"nfe":2,"opened":[[2,1]],"remasked":[1],"logp":[-0.01],"entropies":[0.1],"entropy":0.5}
{"event":"news","row":0,"step":0,"nfe":0}
{"event":"step","row":0,"step":3,"nfe":3,"opened":[[1,1]],"logp":[-2],"entropies":[0.1],"entropy":0.25}
{"event":"end","row":0,"step":4,"nfe":3,"tokens":[0,1,1,3],"finish":"complete"}
`

func read(t testing.TB, name, text string) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(name, []byte(text), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReplay(t *testing.T) {
	tr := read(t, "toy.jsonl", toy)
	row := tr.Rows[0]
	for n, want := range [][]int32{{0, 9, 9, 3}, {0, 0, 9, 3}, {0, 9, 1, 3}, {0, 1, 1, 3}} {
		if diff := cmp.Diff(want, tr.Replay(row, n).Tokens); diff != "" {
			t.Errorf("after %d steps: %s", n, diff)
		}
	}
	c := tr.Replay(row, 3)
	if diff := cmp.Diff([]int{0, 3, 2, 0}, c.Opened); diff != "" {
		t.Error(diff)
	}
	if c.Logp[1] != -2 || !math.IsNaN(float64(c.Logp[0])) {
		t.Errorf("log-probabilities %v", c.Logp)
	}
	if got := tr.Rows[1].Finish(); got != "unfinished" {
		t.Errorf("row 1 is %s", got)
	}
}

func TestSummary(t *testing.T) {
	tr := read(t, "toy.jsonl", toy)
	text, err := json.Marshal(tr.Summarise(tr.Rows[0]).Rows[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"row":0,"finish":"complete","nfe":3,"steps":4,"blanks":2,"opened":2,"revised":1,"overwritten":0,"text":"abb","step_map":[-1,3,2,-1],"timeline":[` +
		`{"step":0,"nfe":1,"opened":1,"overwritten":0,"remasked":0,"masked":1,"entropy":1.25},{"step":2,"nfe":2,"opened":1,"overwritten":0,"remasked":1,"masked":1,"entropy":0.5},` +
		`{"step":3,"nfe":3,"opened":1,"overwritten":0,"remasked":0,"masked":0,"entropy":0.25}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if s := tr.Summarise(); s.NFE != 4 || s.Tokens != 4 || s.TokensPerNFE != 1 || len(s.Rows) != 2 || s.Rows[1].Text != "b░░red↵" {
		t.Errorf("%+v", s)
	}
}

// edited overwrites position 1 in step 1, a free token that was there from the start in step 2, and both once more while it masks
// position 1 again; what is opened after that is no revision.
const edited = header + `{"event":"row","row":0,"tokens":[0,9,9,3],"free":[0]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,0]],"entropy":1}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[1,1],[2,0]],"logp":[null,-0.5]}
{"event":"step","row":0,"step":2,"nfe":3,"opened":[[0,2]]}
{"event":"step","row":0,"step":3,"nfe":4,"opened":[[0,1],[1,2]],"remasked":[1]}
{"event":"step","row":0,"step":4,"nfe":5,"opened":[[1,1]]}
{"event":"end","row":0,"step":5,"nfe":5,"tokens":[1,1,0,3],"finish":"complete"}
`

func TestOverwritten(t *testing.T) {
	tr := read(t, "edited.jsonl", edited)
	row := tr.Rows[0]
	got := tr.Summarise(row).Rows[0]
	if got.Revised != 5 || got.Overwritten != 4 || got.Opened != 2 {
		t.Errorf("%d revised, %d of them overwritten, %d opened; want 5, 4, 2", got.Revised, got.Overwritten, got.Opened)
	}
	for k, want := range [][4]int{{1, 0, 0, 1}, {1, 1, 0, 0}, {0, 1, 0, 0}, {0, 2, 1, 1}, {1, 0, 0, 0}} {
		p := got.Timeline[k]
		if diff := cmp.Diff(want, [4]int{p.Opened, p.Overwritten, p.Remasked, p.Masked}); diff != "" {
			t.Errorf("step %d (opened, overwritten, remasked, masked): %s", k, diff)
		}
	}
	c := tr.Replay(row, 3)
	if diff := cmp.Diff([][]int{{0, 1, 2, 0}, {3, 2, 2, 0}}, [][]int{c.Opened, c.Written}); diff != "" {
		t.Error(diff)
	}
	step, err := tr.Step(row, 2, trace.Look{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "overwritten", tr.Overview(trace.Look{})+"---\n"+tr.Row(row, trace.Look{})+"---\n"+step)
	// Overwriting is no opening: the order of a row that only opens is the same.
	plain := read(t, "plain", header+`{"event":"row","row":0,"tokens":[0,9,9,3]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,0]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[2,0]]}
`)
	over := read(t, "over", header+`{"event":"row","row":0,"tokens":[0,9,9,3]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,0]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[2,0]]}
{"event":"step","row":0,"step":2,"nfe":3,"opened":[[1,1]]}
`)
	both, err := trace.Compare(over, plain)
	if err != nil {
		t.Fatal(err)
	}
	if p := both.Rows[0]; p.Revised != [2]int{1, 0} || *p.Order != 1 || *p.FirstStep != 2 || !strings.Contains(both.Text(trace.Look{}), "  revised 1 | 0") {
		t.Errorf("%+v", p)
	}
}

// The golden files hold what a terminal receives; ESC is written as ^[.
func TestShow(t *testing.T) {
	tr := read(t, "toy.jsonl", toy)
	for name, look := range map[string]trace.Look{"plain": {}, "styled": {Styled: true, Width: 60}} {
		step, err := tr.Step(tr.Rows[0], 3, look)
		if err != nil {
			t.Fatal(err)
		}
		got := tr.Overview(look) + "---\n" + tr.Row(tr.Rows[0], look) + "---\n" + step
		golden(t, name, got)
	}
	if _, err := tr.Step(tr.Rows[0], 5, trace.Look{}); err == nil || err.Error() != "row 0 has 4 steps, and no step 5; 0 is its start" {
		t.Errorf("%v", err)
	}
	if _, err := tr.Find(5); err == nil || err.Error() != "toy.jsonl: has no row 5; its rows lie from 0 to 1" {
		t.Errorf("%v", err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "^[")
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// A trace of the first format, which names neither the mask nor how tokens read, is shown by ids.
func TestEarlyTrace(t *testing.T) {
	tr := read(t, "early.jsonl", `{"trace":1,"seed":7,"model":"toy","sampler":"masked","planner":"eb"}
{"event":"row","row":0,"step":0,"nfe":0,"tokens":[4,8,8]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[2,5]]}
{"event":"end","row":0,"step":1,"nfe":1,"tokens":[4,8,5],"finish":"cancelled"}
`)
	if got := tr.Summarise().Rows[0]; got.Text != "#4░#5" || got.Blanks != 2 || got.Opened != 1 {
		t.Errorf("%+v", got)
	}
}

func TestBadInput(t *testing.T) {
	row := header + `{"event":"row","row":0,"tokens":[9,9]}` + "\n"
	for name, c := range map[string]struct{ text, says string }{
		"empty":         {"", "bad: is empty, expected a trace; `mdmhost sample --trace FILE` writes one"},
		"blank":         {" \n\n", "bad: is empty"},
		"answers":       {`{"index":0,"seed":1,"text":"CCO"}` + "\n", `bad: line 1: expected a trace, which begins with {"trace":1, ...}`},
		"text":          {"hello\n", `bad: line 1: expected a trace`},
		"list":          {"[1]\n", `bad: line 1: expected a trace`},
		"newer":         {`{"trace":3}` + "\n", "bad: line 1: the trace is of version 3, expected 1 or 2; use the mdmhost that wrote it, or a newer one"},
		"older":         {`{"trace":0}` + "\n", "bad: line 1: the trace is of version 0"},
		"grid":          {`{"trace":1,"grid":{"rows":-1,"cols":3}}` + "\n", "bad: line 1: grid: -1 rows of 3 cells"},
		"cut header":    {`{"trace":1,"se`, "bad: line 1: expected a trace"},
		"cut line":      {row + `{"event":"step","row":0,"opened":[[0,`, "bad: line 3 ends in the middle: the run that wrote it was killed, or the file was cut; --partial reads what stands before it"},
		"broken line":   {header + "{\"event\":\n" + `{"event":"row","row":0,"tokens":[9]}` + "\n", "bad: line 2: expected an event of a trace"},
		"wrong type":    {header + `{"event":"row","row":"x"}` + "\n", "bad: line 2: expected an event of a trace"},
		"unknown row":   {row + `{"event":"step","row":1}` + "\n", "bad: line 3: a step of row 1, which is not on its way"},
		"second start":  {row + `{"event":"row","row":0}` + "\n", "bad: line 3: row 0 begins a second time"},
		"second end":    {row + `{"event":"end","row":0}` + "\n" + `{"event":"end","row":0}` + "\n", "bad: line 4: the end of row 0, which is not on its way"},
		"outside":       {row + `{"event":"step","row":0,"opened":[[2,1]]}` + "\n", "bad: line 3: position 2 of row 0, which has 2"},
		"before":        {row + `{"event":"step","row":0,"remasked":[-1]}` + "\n", "bad: line 3: position -1 of row 0, which has 2"},
		"guess outside": {row + `{"event":"step","row":0,"guess":[[5,1]]}` + "\n", "bad: line 3: position 5"},
		"other count":   {row + `{"event":"step","row":0,"opened":[[0,1]],"logp":[-1,-2]}` + "\n", "bad: line 3: logp has 2 numbers for 1 opened tokens"},
	} {
		_, err := trace.Read("bad", []byte(c.text), trace.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v, expected %q", name, err, c.says)
		}
	}
	if _, err := trace.Open(filepath.Join(t.TempDir(), "none.jsonl"), trace.Options{}); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	tr, err := trace.Read("cut", []byte(row+`{"event":"step","row":0,"opened":[[0,`), trace.Options{Partial: true})
	if err != nil || tr.Torn != 3 || len(tr.Rows) != 1 {
		t.Errorf("partial: %v, %+v", err, tr)
	}
}

// A page made of a trace is the same trace, wherever it is cut.
func TestPage(t *testing.T) {
	tr := read(t, "toy.jsonl", toy)
	var b bytes.Buffer
	if left, err := tr.WritePage(&b); err != nil || left != 0 {
		t.Fatal(left, err)
	}
	again, err := trace.Read("toy.jsonl", b.Bytes(), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tr.Summarise(tr.Rows...), again.Summarise(again.Rows...)); diff != "" {
		t.Error(diff)
	}
	_, before, _ := page.Trace(b.Bytes())
	at := bytes.Index(b.Bytes(), []byte(`"step":3`))
	_, err = trace.Read("cut.html", b.Bytes()[:at], trace.Options{})
	if err == nil || !strings.Contains(err.Error(), "cut.html: line ") {
		t.Fatal(err)
	}
	part, err := trace.Read("cut.html", b.Bytes()[:at], trace.Options{Partial: true})
	if err != nil || part.Torn != before+1+bytes.Count(b.Bytes()[:at], []byte("\n"))-before {
		t.Errorf("%v: torn at %d", err, part.Torn)
	}
}

func TestCompare(t *testing.T) {
	a := read(t, "a", header+`{"event":"row","row":0,"tokens":[9,9,9,9]}
{"event":"row","row":3,"tokens":[9,0,0,0]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[0,1],[1,1]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[2,1]]}
{"event":"step","row":0,"step":2,"nfe":3,"opened":[[3,1]]}
{"event":"end","row":0,"step":3,"nfe":3,"tokens":[1,1,1,1],"finish":"complete"}
`)
	b := read(t, "b", strings.Replace(header, `"seed":7`, `"seed":8`, 1)+`{"event":"row","row":0,"tokens":[9,9,9,9]}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,1],[0,1]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[3,0]]}
{"event":"step","row":0,"step":2,"nfe":3,"opened":[[2,1]]}
{"event":"end","row":0,"step":3,"nfe":3,"tokens":[1,1,1,0],"finish":"steps"}
`)
	c, err := trace.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	one, tau := 1, 0.6 // of 6 pairs one is tied in both, one is discordant: (4 - 1) / 5
	want := &trace.Comparison{A: "a", B: "b", OnlyA: []int64{3}, Agreement: 0.75, NFE: [2]int{3, 3},
		Settings: []trace.SettingsPair{{Key: "seed", A: uint64(7), B: uint64(8)}},
		Rows: []trace.RowPair{{NFE: [2]int{3, 3}, Steps: [2]int{3, 3}, Finish: [2]string{"complete", "steps"}, FirstStep: &one, FirstWhat: "opened", Different: []int32{3},
			Compared: 4, Agreement: 0.75, Order: &tau, Given: true, Text: [2]string{"#1#1#1#1", "#1#1#1#0"}}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	golden(t, "compare", c.Text(trace.Look{}))
	if _, err := trace.Compare(a, read(t, "c", header+`{"event":"row","row":0,"tokens":[9]}`+"\n")); err == nil || !strings.HasPrefix(err.Error(), "row 0 has 4 positions in a and 1 in c;") {
		t.Errorf("%v", err)
	}
	if _, err := trace.Compare(a, read(t, "c", header+`{"event":"row","row":1,"tokens":[9]}`+"\n")); err == nil || !strings.HasPrefix(err.Error(), "a and c have no row in common;") {
		t.Errorf("%v", err)
	}
}

// Whatever is opened in whatever order: a trace equals itself, and the other order of comparing swaps sides and nothing else.
func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.IntRange(1, 12).Draw(rt, "L")
		make := func(name string) *trace.Trace {
			var b strings.Builder
			b.WriteString(header + `{"event":"row","row":0,"tokens":[9` + strings.Repeat(",9", l-1) + `]}` + "\n")
			for k, p := range rapid.Permutation(positions(l)).Draw(rt, name) {
				token := rapid.IntRange(0, 2).Draw(rt, "token")
				line, err := json.Marshal(map[string]any{"event": "step", "row": 0, "step": k, "nfe": k + 1, "opened": [][2]int{{p, token}}})
				if err != nil {
					rt.Fatal(err)
				}
				b.Write(append(line, '\n'))
			}
			return read(t, name, b.String())
		}
		a, b := make("a"), make("b")
		self, err := trace.Compare(a, a)
		if err != nil || self.Agreement != 1 || self.Rows[0].FirstStep != nil || self.Same != 1 || l > 1 && *self.Rows[0].Order != 1 {
			rt.Fatalf("%v: %+v", err, self)
		}
		ab, err := trace.Compare(a, b)
		if err != nil {
			rt.Fatal(err)
		}
		ba, err := trace.Compare(b, a)
		if err != nil {
			rt.Fatal(err)
		}
		x, y := ab.Rows[0], ba.Rows[0]
		x.Text[0], x.Text[1] = x.Text[1], x.Text[0]
		if diff := cmp.Diff(x, y); diff != "" {
			rt.Fatal(diff)
		}
		if x.Order != nil && math.Abs(*x.Order) > 1 || x.Agreement < 0 || x.Agreement > 1 || len(x.Different) != l-int(math.Round(x.Agreement*float64(l))) {
			rt.Fatalf("%+v", x)
		}
	})
}

func positions(l int) []int {
	out := make([]int, l)
	for i := range out {
		out[i] = i
	}
	return out
}

// What is read can be shown, compared and written as a page; what cannot be read is an error, never a panic.
func FuzzRead(f *testing.F) {
	f.Add([]byte(toy))
	f.Add([]byte(header))
	f.Add([]byte(growing))
	f.Add([]byte(toy[:len(toy)-9]))
	f.Add([]byte(`{"trace":1}` + "\n" + `{"event":"row","row":-1,"tokens":[]}` + "\n" + `{"event":"step","row":-1,"entropy":-1e300,"metrics":{"":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := trace.Read("fuzz", text, trace.Options{Partial: true})
		if err != nil {
			return
		}
		look := trace.Look{Styled: true, Width: 40}
		_ = tr.Overview(look)
		for _, r := range tr.Rows {
			_ = tr.Row(r, look)
			for n := range min(r.StepCount(), 100) {
				if _, err := tr.Step(r, n, look); err != nil {
					t.Error(err)
				}
			}
		}
		if len(tr.Rows) > 0 {
			c, err := trace.Compare(tr, tr)
			if err != nil || c.Same != len(tr.Rows) {
				t.Errorf("compared with itself: %v, %+v", err, c)
			}
		}
		var b bytes.Buffer
		if _, err := tr.WritePage(&b); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read("fuzz", b.Bytes(), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		again.Torn = tr.Torn
		if diff := cmp.Diff(tr.Summarise(tr.Rows...), again.Summarise(again.Rows...)); diff != "" {
			t.Error(diff)
		}
	})
}
