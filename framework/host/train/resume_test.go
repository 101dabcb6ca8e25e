package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// outcome is what a run left: the bytes of its last checkpoint and the figures of its lines, times aside.
type outcome struct {
	Files map[string]string // sha256
	Lines []record.Line
	Best  *checkpoint.Best
}

func outcomeOf(t *testing.T, dir string, step int64) outcome {
	t.Helper()
	c, skipped, err := checkpoint.Latest(dir)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	if c.Manifest.Step != step {
		t.Fatalf("the run stands at step %d, expected %d", c.Manifest.Step, step)
	}
	out := outcome{Files: map[string]string{}, Best: c.Manifest.Best}
	for _, f := range c.Manifest.Files {
		out.Files[f.Name] = f.SHA256
	}
	lines, err := record.Read(filepath.Join(dir, "metrics.jsonl"))
	must(t, err)
	for _, l := range lines {
		l.Seconds, l.TokensPerSecond = 0, 0
		out.Lines = append(out.Lines, l)
	}
	return out
}

// TestKilledRunsGoOn kills training processes at random moments, 33 times in all, until the run is finished: the same bits as
// an undisturbed run, with accumulation and without, and with two networks that two samples of a row are drawn for.
func TestKilledRunsGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		steps, kills int64
		settings     func(t *testing.T, dir string, more ...string) []string
		more         []string
	}{
		"accumulate 1": {3000, 15, small, []string{"train.accumulate=1"}},
		"accumulate 2": {3000, 15, small, []string{"train.accumulate=2"}},
		"loflexmdm":    {600, 3, inserting, []string{"trainer.name=loflexmdm"}},
	} {
		t.Run(name, func(t *testing.T) {
			calm, steps, kills := filepath.Join(t.TempDir(), "calm"), c.steps, c.kills
			settings := c.settings(t, calm, append(c.more, fmt.Sprint("train.steps=", steps), "train.eval_every=300", "train.checkpoint_every=41", "train.log_every=50", "optimizer.clip=0.5")...)
			began := time.Now()
			_, err := run(t, context.Background(), settings...)
			must(t, err)
			want := outcomeOf(t, calm, steps)

			longest := time.Since(began) / 4
			for attempt := 1; ; attempt++ {
				killed := filepath.Join(t.TempDir(), "killed")
				settings[0] = "train.run=" + killed
				n, got := killAndGoOn(t, settings, killed, steps, kills, &longest)
				if diff := cmp.Diff(want, outcomeOf(t, killed, steps)); diff != "" {
					t.Fatal(diff)
				}
				if n >= kills && got >= kills/3 {
					break
				}
				t.Logf("attempt %d: finished after %d kills, %d of them of a run that had got further", attempt, n, got)
				if attempt == 10 {
					t.Fatal("no attempt outlasted its kills; give the run more steps")
				}
			}
		})
	}
}

// killAndGoOn starts the run again and again, until it is finished, and kills it each time but the last, at a random moment before
// *longest is over. That adapts to the machine, so that the kills fall on the whole of the run: it grows when a process was killed
// before it saved anything and shrinks when one got more than its share of the steps. It returns the number of kills, and
// of those after which the run stood at a later checkpoint.
func killAndGoOn(t *testing.T, settings []string, dir string, steps, kills int64, longest *time.Duration) (n, got int64) {
	t.Helper()
	text, err := json.Marshal(settings)
	must(t, err)
	for at := int64(0); ; n++ {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childVar+"="+string(text))
		must(t, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		var kill <-chan time.Time // never
		if n < kills || got < kills/3 {
			kill = time.After(time.Duration(rand.Int64N(int64(*longest))))
		}
		select {
		case err = <-ended:
			must(t, err)
		case <-kill:
			_ = c.Process.Kill() // which fails if it has ended just now
			err = <-ended
		}
		if err == nil {
			*longest /= 2 // for another attempt, where this one did not last
			return n, got
		}
		before := at
		if c, _, err := checkpoint.Latest(dir); err == nil && c != nil {
			at = c.Manifest.Step
		}
		switch {
		case at == before:
			*longest += *longest / 4
		case at-before > (steps-before)/max(1, kills-n):
			got++
			*longest -= *longest / 3
		default:
			got++
		}
	}
}

// TestInterruptedRunGoesOn ends a run through its context and by its budget: the state is saved, and the end is the same.
func TestInterruptedRunGoesOn(t *testing.T) {
	calm, other := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "other")
	settings := small(t, calm)
	_, err := run(t, context.Background(), settings...)
	must(t, err)
	settings[0] = "train.run=" + other
	out, err := run(t, context.Background(), append(settings, "train.minutes=0.000001")...)
	must(t, err)
	if !contains(out, "out of time; the same command goes on") {
		t.Errorf("the summary does not say that time is up:\n%s", out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run(t, ctx, settings...); err == nil {
		t.Error("a run that was cancelled before it began ended well")
	}
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	if diff := cmp.Diff(outcomeOf(t, calm, 40), outcomeOf(t, other, 40)); diff != "" {
		t.Error(diff)
	}
}
