package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
	"github.com/mdmhost/mdmhost/framework/insertion/exact"
)

// TestGrowth holds the answers of a run of an insertion model against its trace, and its trace against what the page shows.
func TestGrowth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	law := exact.Toy()
	if err := law.Save(dir, 4, 1); err != nil {
		t.Fatal(err)
	}
	answers := filepath.Join(t.TempDir(), "answers.jsonl")
	file, tr := traced(t, "--model", dir, "--num", "12", "--steps", "16", "--format", "jsonl", "--details", "--out", answers)
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	longest := 0
	for i, line := range lines {
		var a results.Row
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		row := tr.Rows[i]
		s := tr.Summarise(row).Rows[0]
		type told struct {
			tokens     []int32
			step, born []int
			nfe, cap   int
		}
		want := told{a.Tokens, whole(a.StepMap), whole(a.Born), a.NFE, a.Capped}
		if diff := cmp.Diff(want, told{append([]int32{}, tr.Replay(row, len(row.Steps)).Tokens...), s.StepMap, append([]int{}, s.Born...), s.NFE, s.Capped}, cmp.AllowUnexported(told{})); diff != "" {
			t.Errorf("row %d (-answer +trace): %s", i, diff)
		}
		if s.Length > tr.Summarise().Rows[longest].Length {
			longest = i
		}
	}
	if len(lines) != 12 || len(tr.Rows) != 12 {
		t.Fatalf("%d answers, %d rows in the trace", len(lines), len(tr.Rows))
	}
	if text, err := exec.Command("mdmhost", "trace", "compare", file, file).CombinedOutput(); err != nil || !strings.Contains(string(text), "rows 12, same answer 12") {
		t.Errorf("%v: %s", err, text)
	}

	b := pagetest.Start(t)
	p := b.Open(t, file, pagetest.Desktop)
	for range longest {
		p.Press(kb.ArrowDown)
	}
	row := tr.Rows[longest]
	shows := func(n int) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, after(tr, row, n)...), present(p)); diff != "" {
			t.Errorf("row %d after step %d: %s", longest, n, diff)
		}
	}
	shows(len(row.Steps))
	p.Press(kb.Home)
	for n := range row.Steps {
		shows(n)
		born := 0
		for _, in := range row.Steps[n].Inserted {
			born += int(in[1])
		}
		p.Press(kb.ArrowRight)
		if got := p.Count("#canvas .newborn:not([hidden])"); got != born {
			t.Errorf("step %d: %d new masks are marked, expected %d", n+1, got, born)
		}
	}
	shows(len(row.Steps))
	p.Press("]")
	if got := p.Text("#inspect .facts"); !strings.Contains(got, "inserted in step") || !strings.Contains(got, "opened in step") {
		t.Errorf("the panel says %q", got)
	}
	p.Shoot("insertion")
}

// present is what the page shows of a row that grows: the cells that are there at this step.
func present(p *pagetest.Page) []string {
	return pagetest.Get[[]string](p, `[...document.querySelectorAll("#canvas [data-i]:not([hidden])")].map(e => e.classList.contains("blank") ? "" : e.textContent)`)
}

func whole(steps []int32) []int {
	out := make([]int, len(steps))
	for i, s := range steps {
		out[i] = int(s)
	}
	return out
}
