package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host/trace"
)

// growingHeader begins a trace of an insertion model; growing is a run of it: two masks come before the end token 3, the second is
// opened while another comes between, the first is opened and the last opened, then the first is dropped.
const growingHeader = `{"trace":2,"seed":1,"model":"grow","sampler":"insertion","planner":"confidence","mask_id":9,"growth":{"gap":"eos","cap":5,"a":2}}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"0":"a","1":"b","2":"c","3":"[EOS]","9":"[MASK]"},"special":[3,9]}
`

const growing = growingHeader + `{"event":"row","row":0,"tokens":[3]}
{"event":"step","row":0,"step":0,"nfe":1,"inserted":[[0,2]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[1,1]],"inserted":[[1,1]],"logp":[-0.1],"entropies":[0.5],"entropy":0.75}
{"event":"step","row":0,"step":3,"nfe":3,"opened":[[0,0],[1,2]],"logp":[-0.2,-0.3]}
{"event":"step","row":0,"step":4,"nfe":4,"deleted":[0],"inserted":[[2,1]]}
{"event":"step","row":0,"step":5,"nfe":5,"opened":[[2,0]]}
{"event":"end","row":0,"step":6,"nfe":5,"tokens":[2,1,0,3],"capped":1,"finish":"complete"}
`

func TestReplayOfGrowth(t *testing.T) {
	tr := read(t, "grow.jsonl", growing)
	row := tr.Rows[0]
	for n, want := range [][]int32{{3}, {9, 9, 3}, {9, 9, 1, 3}, {0, 2, 1, 3}, {2, 1, 9, 3}, {2, 1, 0, 3}} {
		if diff := cmp.Diff(want, tr.Replay(row, n).Tokens); diff != "" {
			t.Errorf("after %d steps: %s", n, diff)
		}
	}
	c := tr.Replay(row, 5) // a token is itself wherever it stands
	if diff := cmp.Diff([][]int{{2, 1, 4, 0}, {3, 2, 5, 0}}, [][]int{c.Born, c.Opened}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float32{-0.3, -0.1}, c.Logp[:2]); diff != "" || !math.IsNaN(float64(c.Logp[2])) {
		t.Error(diff, c.Logp)
	}
}

func TestShowGrowth(t *testing.T) {
	tr := read(t, "grow.jsonl", growing)
	for name, look := range map[string]trace.Look{"growing": {}, "growing-styled": {Styled: true, Width: 70}} {
		step, err := tr.Step(tr.Rows[0], 2, look)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, tr.Overview(look)+"---\n"+tr.Row(tr.Rows[0], look)+"---\n"+step)
	}
	text, err := json.Marshal(tr.Summarise(tr.Rows[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"growth":{"gap":"eos","cap":5,"a":2}`, `"blanks":0,"opened":3,"revised":0,"overwritten":0,"length":4,"inserted":4,"deleted":1,"capped":1,"text":"cba"`,
		`"tokens_per_nfe":0.6`, `"step_map":[3,1,5,-1],"born":[1,0,4,-1]`, `{"step":1,"nfe":2,"opened":1,"overwritten":0,"remasked":0,"masked":2,"length":4,"inserted":1,"entropy":0.75}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
}

func TestCompareGrowth(t *testing.T) {
	a := read(t, "a", growing)
	b := read(t, "b", growingHeader+`{"event":"row","row":0,"tokens":[3]}
{"event":"step","row":0,"step":0,"nfe":1,"inserted":[[0,1],[0,1]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[1,1]],"inserted":[[0,1]]}
{"event":"step","row":0,"step":2,"nfe":3,"opened":[[0,0],[1,0],[2,2]]}
{"event":"end","row":0,"step":3,"nfe":3,"tokens":[0,0,1,3],"finish":"complete"}
`)
	c, err := trace.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	p := c.Rows[0] // c b a against a a c: two masks at once are one insertion however they are written
	if *p.FirstStep != 1 || p.FirstWhat != "inserted" || p.Length != [2]int{4, 4} || p.Inserted != [2]int{4, 3} || p.Compared != 3 || p.Agreement != 0.333333 || c.Same != 0 {
		t.Errorf("%+v", p)
	}
	golden(t, "compare-growing", c.Text(trace.Look{}))
	self, err := trace.Compare(a, a)
	if err != nil || self.Same != 1 || self.Agreement != 1 || self.Rows[0].FirstStep != nil || *self.Rows[0].Order != 1 {
		t.Errorf("%v: %+v", err, self)
	}
}

func TestBadGrowth(t *testing.T) {
	row := growingHeader + `{"event":"row","row":0,"tokens":[9,3]}` + "\n"
	for name, c := range map[string]struct{ text, says string }{
		"no growth":   {`{"trace":2,"mask_id":9}` + "\n", "bad: line 1: a trace of version 2, whose rows grow: expected growth with a cap from 1"},
		"no mask":     {`{"trace":2,"growth":{"cap":3}}` + "\n", "bad: line 1: a trace of version 2"},
		"huge cap":    {`{"trace":2,"mask_id":9,"growth":{"cap":1000000000}}` + "\n", "bad: line 1: a trace of version 2"},
		"old version": {header + `{"event":"row","row":0,"tokens":[9]}` + "\n" + `{"event":"step","row":0,"inserted":[[0,1]]}` + "\n", "bad: line 3: row 0 changes its length, but the trace is of version 1"},
		"gap":         {row + `{"event":"step","row":0,"inserted":[[3,1]]}` + "\n", "bad: line 4: 1 masks in gap 3 of row 0, which has gaps 0 to 2"},
		"gap left":    {row + `{"event":"step","row":0,"deleted":[0],"inserted":[[2,1]]}` + "\n", "bad: line 4: 1 masks in gap 2 of row 0, which has gaps 0 to 1"},
		"count":       {row + `{"event":"step","row":0,"inserted":[[0,0]]}` + "\n", "bad: line 4: 0 masks in gap 0"},
		"cap":         {row + `{"event":"step","row":0,"inserted":[[0,2],[1,2]]}` + "\n", "bad: line 4: row 0 grows to more than 5 positions"},
		"twice":       {row + `{"event":"step","row":0,"deleted":[1,1]}` + "\n", "bad: line 4: a position of row 0 leaves it twice"},
		"deleted":     {row + `{"event":"step","row":0,"deleted":[2]}` + "\n", "bad: line 4: position 2 of row 0, which has 2"},
		"position":    {row + `{"event":"step","row":0,"inserted":[[0,1]],"opened":[[2,1]]}` + "\n", "bad: line 4: position 2 of row 0, which has 2"},
	} {
		_, err := trace.Read("bad", []byte(c.text), trace.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v, expected %q", name, err, c.says)
		}
	}
}

func TestPageOfGrowth(t *testing.T) {
	tr := read(t, "grow.jsonl", growing)
	var b bytes.Buffer
	if _, err := tr.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	again := read(t, "grow.jsonl", b.String())
	if diff := cmp.Diff(tr.Summarise(tr.Rows...), again.Summarise(again.Rows...)); diff != "" {
		t.Error(diff)
	}
}

// However rows grow: tokens keep their steps of birth and opening wherever they move, and what is told adds up.
func TestGrowthProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type cell struct{ born, opened, token int }
		cells := []cell{{0, 0, 3}}
		var b strings.Builder
		b.WriteString(strings.Replace(growingHeader, `"cap":5`, `"cap":60`, 1) + `{"event":"row","row":0,"tokens":[3]}` + "\n")
		for k := 1; k <= rapid.IntRange(1, 8).Draw(rt, "steps"); k++ {
			var opened, inserted [][2]int
			var deleted []int
			var kept []cell
			for p, c := range cells {
				switch act := rapid.IntRange(0, 5).Draw(rt, "act"); {
				case c.token == 9 && act < 3:
					cells[p].opened, cells[p].token = k, act
					opened = append(opened, [2]int{p, act})
				case act == 5 && p < len(cells)-1:
					deleted = append(deleted, p)
					continue
				}
				kept = append(kept, cells[p])
			}
			gap := rapid.IntRange(0, len(kept)-1).Draw(rt, "gap")
			if n := rapid.IntRange(0, 4).Draw(rt, "masks"); n > 0 {
				inserted = append(inserted, [2]int{gap, n})
				kept = slices.Insert(kept, gap, slices.Repeat([]cell{{k, 0, 9}}, n)...)
			}
			cells = kept
			line, err := json.Marshal(map[string]any{"event": "step", "row": 0, "step": k - 1, "nfe": k, "opened": opened, "deleted": deleted, "inserted": inserted})
			if err != nil {
				rt.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", line)
		}
		tr, err := trace.Read("grown", []byte(b.String()), trace.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		row := tr.Rows[0]
		c := tr.Replay(row, len(row.Steps))
		var got []cell
		for i := range c.Tokens {
			got = append(got, cell{c.Born[i], c.Opened[i], int(c.Tokens[i])})
		}
		if diff := cmp.Diff(cells, got, cmp.AllowUnexported(cell{})); diff != "" {
			rt.Fatal(diff)
		}
		s := tr.Summarise(row).Rows[0]
		if s.Length != 1+s.Inserted-s.Deleted || s.Opened+tr.Blanks(c.Tokens)+1 != s.Length || s.Timeline[len(s.Timeline)-1].Length != s.Length {
			rt.Fatalf("%+v", s)
		}
		if self, err := trace.Compare(tr, tr); err != nil || self.Agreement != 1 || self.Same != 1 {
			rt.Fatalf("%v: %+v", err, self)
		}
	})
}
