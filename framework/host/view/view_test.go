package view

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func piece(id int32) string {
	return []string{"", "C", "c", "(", ")", "=O", "N", "\n", "\x1b[31mred"}[id]
}

const m, f = sampling.Masked, sampling.Fixed

func frames() []sampling.Frame {
	return []sampling.Frame{
		{Index: 4, Slot: 0, Step: 1, Steps: 3, NFE: 2, Tokens: []int32{0, 1, 1, 0, 0, 4, 0}, Flags: []sampling.Flags{f, f, 0, m, m, f, f}, Guess: []int32{-1, -1, -1, 5, -1, -1, -1}, Opened: []int32{2}},
		{Index: 2, Slot: 1, Step: 0, Steps: 2, NFE: 1, Tokens: []int32{6, 0, 2}, Flags: []sampling.Flags{0, m, m}, Guess: []int32{-1, 2, 2}, Opened: []int32{0}},
	}
}

// The golden files hold what a terminal receives; ESC is written as ^[.
func TestDraw(t *testing.T) {
	var c canvas
	for _, frame := range frames() {
		c.take(frame, frame.Step+1)
	}
	for name, look := range map[string]Look{
		"styled": {Styled: true, Width: 40}, "plain": {}, "oneline": {OneLine: true}, "narrow": {Styled: true, Width: 3}, "short": {Height: 3},
	} {
		got := strings.ReplaceAll(c.draw(piece, look), "\x1b", "^[") + "\n"
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
}

func TestWatchPlain(t *testing.T) {
	var b strings.Builder
	w := NewWatch(&b, false, piece)
	frame := frames()[0]
	w.Admitted(frame)
	w.Stepped(frame)
	w.Stepped(frame) // too soon for another line
	w.Say("hello")
	w.Finished(sampling.Result{Index: 4, Tokens: []int32{0, 1, 1, 5, 8, 4, 0}, Finish: sampling.FinishComplete, Steps: 3, NFE: 3})
	w.Finished(sampling.Result{Index: 99, Finish: sampling.FinishCancelled}) // never admitted
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := "row 4  step 2/3  nfe 2  CC░░)\nhello\nrow 4  complete  steps 3  nfe 3  CC=Ored)\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWatchScreen(t *testing.T) {
	var b strings.Builder
	w := NewWatch(&b, false, piece)
	w.open(tea.WithWindowSize(60, 10))
	w.Admitted(frames()[0])
	w.Stepped(frames()[0])
	w.Finished(sampling.Result{Index: 4, Tokens: []int32{0, 1, 1, 5, 6, 4, 0}, Finish: sampling.FinishComplete, Steps: 3, NFE: 3})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "CC=ON)") {
		t.Errorf("the last state is missing from %q", b.String())
	}
	if strings.Contains(b.String(), "$p") {
		t.Errorf("the terminal is asked for answers that nobody reads: %q", b.String())
	}
}

func TestProgressLines(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false, 2, 6)
	clock := p.start
	p.now = func() time.Time { return clock }
	all := frames()
	p.Admitted(before(all[0]))
	p.Stepped(all[0])
	p.Stepped(all[0]) // overwrites what it wrote: no further position
	if b.Len() > 0 {
		t.Errorf("a short run says %q", b.String())
	}
	clock = clock.Add(quiet)
	p.Admitted(before(all[1]))
	clock = clock.Add(reportEvery)
	p.Finished(sampling.Result{Index: 4, NFE: 3, Finish: sampling.FinishComplete})
	p.Stepped(all[1])
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "0 of 2 rows, 16% of the positions, 0.50 tokens per NFE\n1 of 2 rows, 50% of the positions, 1.00 tokens per NFE\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// before is the frame without what its step opened.
func before(f sampling.Frame) sampling.Frame {
	f.Flags = slices.Clone(f.Flags)
	for _, i := range f.Opened {
		f.Flags[i] = sampling.Masked | sampling.Eligible
	}
	return f
}

func TestProgressBar(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, true, 2, 4)
	clock := p.start.Add(quiet)
	p.now = func() time.Time { return clock }
	p.Admitted(frames()[0])
	p.Stepped(frames()[0])
	p.Finished(sampling.Result{Index: 4, NFE: 3, Finish: sampling.FinishComplete})
	p.Say("hello")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "hello\n") {
		t.Errorf("expected the line above the bar, found %q", b.String())
	}
	if p.opened != 2 || p.nfe != 3 || p.done != 1 {
		t.Errorf("opened %d, nfe %d, done %d", p.opened, p.nfe, p.done)
	}
}

func TestSummary(t *testing.T) {
	s := Summary{
		Accounts: sampling.Accounts{Rows: 4, Tokens: 100, Passes: 20, RowPasses: 50, Steps: 60, Denoise: 1500 * time.Millisecond, Plan: 100 * time.Millisecond, Wall: 2 * time.Second},
		Finishes: map[sampling.Finish]int{sampling.FinishSteps: 1, sampling.FinishComplete: 3}, Resumed: 2, Model: "rxn", Planner: "eb gamma=0.1", Sampler: "masked",
		Provider: "onnx/cpu, 2 threads", Notes: []string{"cuda: libcudart.so.13 is missing, so the CPU runs"}, Seed: 7,
	}
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `rows      4 rows (3 complete, 1 out of steps), 2 more kept from the run before, 100 tokens in 2s
speed     NFE 50 (12.5 a row) in 20 forward passes, 2.00 tokens per NFE, 100.00 ms per NFE, 50 tokens per second
time      75% denoiser, 5% planner, 20% host; 2.5 rows to a forward pass
ran       model rxn, planner eb gamma=0.1, sampler masked, runtime onnx/cpu, 2 threads
note      cuda: libcudart.so.13 is missing, so the CPU runs
seed      7
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	// With a network of the planner's own: its calls are counted, and its time is not the host's.
	s.Accounts.ScorePasses, s.Accounts.Score = 19, 300*time.Millisecond
	b.Reset()
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(want, "20% host; 2.5 rows to a forward pass\n",
		"5% host; 2.5 rows to a forward pass\nnetworks  20 calls of the denoiser, 19 of the planner's own network (15% of the time)\n", 1)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// Both counts of rows that are completed before they are cut, and passes over windows alone where there are any.
func TestSummaryOfFrames(t *testing.T) {
	s := Summary{Accounts: sampling.Accounts{Tokens: 100, Passes: 20, Partial: 15, RowPasses: 50, Until: 18}, Finishes: map[sampling.Finish]int{sampling.FinishStop: 4}, Until: true}
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	if want := "NFE 50 (12.5 a row, 4.5 until the stop rule) in 20 forward passes (15 partial), "; !strings.Contains(b.String(), want) {
		t.Errorf("expected %q in\n%s", want, b.String())
	}
}
