package train_test

import (
	"context"
	"encoding/json"
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

// TestKilledRunsGoOn kills training processes at random moments, 30 times in all, until the run is finished: the same bits as
// an undisturbed run, with accumulation and without.
func TestKilledRunsGoOn(t *testing.T) {
	for _, accumulate := range []string{"1", "2"} {
		t.Run("accumulate "+accumulate, func(t *testing.T) {
			calm, killed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "killed")
			settings := small(t, calm, "train.accumulate="+accumulate, "train.steps=4000", "train.eval_every=300", "train.checkpoint_every=41", "train.log_every=50", "optimizer.clip=0.5")
			_, err := run(t, context.Background(), settings...)
			must(t, err)
			want := outcomeOf(t, calm, 4000)

			settings[0] = "train.run=" + killed
			text, err := json.Marshal(settings)
			must(t, err)
			const kills = 15
			longest := 700 * time.Millisecond
			for n := 0; ; n++ {
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), childVar+"="+string(text))
				must(t, c.Start())
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				if n < kills {
					select {
					case err := <-ended:
						t.Fatalf("the run ended after %d kills (%v), expected it to last for %d; use more steps", n, err, kills)
					case <-time.After(time.Duration(rand.Int64N(int64(longest)))):
						must(t, c.Process.Kill())
						<-ended
					}
					continue
				}
				must(t, <-ended)
				break
			}
			if diff := cmp.Diff(want, outcomeOf(t, killed, 4000)); diff != "" {
				t.Error(diff)
			}
		})
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
