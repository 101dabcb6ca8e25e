package checkpoint

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

const childRun = "MDMHOST_TEST_CHECKPOINT_RUN"

func TestMain(m *testing.M) {
	if run := os.Getenv(childRun); run != "" {
		fmt.Fprintln(os.Stderr, train(run))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// train writes checkpoints until it is killed and says which are written. Every third step is written twice, as by a
// run that saves once more at its end.
func train(run string) error {
	s, err := Open(run, 2)
	if err != nil {
		return err
	}
	step := int64(0)
	if c, skipped, err := s.Latest(); err == nil {
		if len(skipped) > 0 {
			return fmt.Errorf("skipped %v", skipped)
		}
		step = c.Manifest.Step
	}
	fmt.Println(step)
	for {
		step++
		for range 1 + (step%3)/2 {
			if err := s.Save(manifest(step), tensors(step)); err != nil {
				return err
			}
		}
		fmt.Println(step)
	}
}

// A run that is killed at any moment leaves its newest checkpoint whole: no step that was reported is ever lost, and
// what is half done is neither seen nor left behind.
func TestKilledAtAnyMoment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	reached, halves := int64(0), 0
	for kill := range 30 {
		child := exec.Command(self)
		child.Env = append(os.Environ(), childRun+"="+run)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatalf("kill %d: the child said nothing", kill)
		}
		timer := time.AfterFunc(time.Duration(random.IntN(40_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		for ok := true; ok; ok = lines.Scan() {
			step, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil || step < reached {
				t.Fatalf("kill %d: the child stands at %q, step %d was reached before: %v", kill, lines.Text(), reached, err)
			}
			reached = step
		}
		timer.Stop()
		if err := child.Wait(); err == nil || child.ProcessState.ExitCode() >= 0 {
			t.Fatalf("kill %d: expected the child to be killed, found %v", kill, err)
		}
		for _, name := range names(t, run) {
			if _, whole := stepOf(name); !whole {
				halves++
			}
		}
		s, err := Open(run, 2)
		if err != nil {
			t.Fatal(err)
		}
		if c, skipped, err := s.Latest(); reached > 0 || err == nil {
			if err != nil || len(skipped) > 0 || c.Manifest.Step < reached || c.Manifest.Step > reached+1 {
				t.Fatalf("kill %d: step %d was reached, found %+v, skipped %v, error %v", kill, reached, c, skipped, err)
			}
			same(t, c, c.Manifest.Step)
			reached = c.Manifest.Step
		}
		for _, name := range names(t, run) {
			if _, whole := stepOf(name); !whole {
				t.Errorf("kill %d: %s is left behind", kill, name)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d steps, %d kills in the middle of a checkpoint", reached, halves)
	if reached == 0 {
		t.Error("no child came to write a checkpoint")
	}
}
