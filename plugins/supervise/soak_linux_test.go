package supervise_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// What may be more at the end than after the first tenth. Memory is what is the process's own and what it shares, without the files
// that it maps; 4 MiB are 466 bytes a call in full. The Go runtime may start a thread when the machine is busy; a thread that is
// lost in every call, or in every launch, would be hundreds.
const (
	moreMemory  = 4 << 20
	moreThreads = 8
)

// usage is what a process has.
type usage struct{ memory, files, threads int }

func (u usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d files, %d threads", float64(u.memory)/(1<<20), u.files, u.threads)
}

// usageOf reads it for a process that has just tidied up.
func usageOf(t *testing.T, pid int) (u usage) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB")) // texts are 0, and not looked at
		switch name {
		case "RssAnon", "RssShmem":
			u.memory += n << 10
		case "Threads":
			u.threads = n
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(files)
	return u
}

// own is what this process, the host, has.
func own(t *testing.T) usage {
	t.Helper()
	debug.FreeOSMemory()
	return usageOf(t, os.Getpid())
}

// grown holds what a process has at the end against what it had.
func grown(t *testing.T, who string, before, after usage) {
	t.Helper()
	if after.memory > before.memory+moreMemory || after.files > before.files || after.threads > before.threads+moreThreads {
		t.Errorf("the %s grew from %v to %v", who, before, after)
	}
}

// soakStep is a step of 8 rows of 256 positions with entropies, and logits over 128 tokens.
func soakStep(logits []float32, first int64) *sampling.Step {
	s := wide()
	for i := range s.Rows {
		r := &s.Rows[i]
		n := len(r.Token) * soakV
		r.Index, r.V, r.Logits = first+int64(i), soakV, logits[i*n:(i+1)*n]
	}
	return s
}

const soakV = 128

// TestSoakCalls: 10,000 answers, a quarter of them of logits in shared memory, leave neither host nor plugin with more memory,
// files or threads than the first thousand.
func TestSoakCalls(t *testing.T) {
	calls := endure(10_000)
	memory, err := shm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	logits, err := memory.Floats(8 * 256 * soakV)
	if err != nil {
		t.Fatal(err)
	}
	for i := range logits {
		logits[i] = float32(i % 1009)
	}
	for _, c := range []struct {
		name string
		n    int
	}{{"soak", calls * 3 / 4}, {"soak-logits", calls / 4}} {
		name, n := c.name, c.n
		p, planner := started(t, supervise.Spec{Name: name, Memory: memory})
		s := soakStep(logits, 0)
		out := make([]sampling.Decision, len(s.Rows))
		ask := func(s *sampling.Step, times int) {
			for range times {
				for i := range out {
					out[i].Reset()
				}
				if err := planner.Plan(t.Context(), s, out); err != nil {
					t.Fatal(err)
				}
				if len(out[7].Open) != 1 {
					t.Fatalf("decisions %v", out)
				}
			}
		}
		measure := func() (usage, usage) {
			ask(soakStep(logits, tidy), 1)
			return own(t), usageOf(t, p.Pid())
		}
		ask(s, n/10)
		hostBefore, pluginBefore := measure()
		goroutines := runtime.NumGoroutine()
		ask(s, n-n/10)
		hostAfter, pluginAfter := measure()
		grown(t, "host", hostBefore, hostAfter)
		grown(t, "plugin", pluginBefore, pluginAfter)
		if after := runtime.NumGoroutine(); after > goroutines {
			t.Errorf("%d goroutines became %d", goroutines, after)
		}
		told("%d calls of %s (B 8, L 256): host %v, then %v; plugin %v, then %v", n, name, hostBefore, hostAfter, pluginBefore, pluginAfter)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSoakLaunches: 200 plugins that come and go leave no process, file, folder, goroutine nor memory.
func TestSoakLaunches(t *testing.T) {
	t.Setenv("TMPDIR", shortDir(t))
	launches := endure(200)
	var before usage
	goroutines := goleak.IgnoreCurrent()
	for i := range launches {
		kind, name := sampling.KindPlanner, "calm"
		if i%2 == 1 {
			kind, name = sampling.KindSampler, "masked"
		}
		p, err := supervise.Launch(t.Context(), supervise.Spec{Kind: kind, Name: name, MTLS: i%4 < 2})
		if err != nil {
			t.Fatal(err)
		}
		pid := p.Pid()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Fatalf("process %d lives on", pid)
		}
		if i == launches/10 {
			before = own(t)
		}
	}
	goleak.VerifyNone(t, goroutines)
	after := own(t)
	grown(t, "host", before, after)
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	told("%d launches and ends: host %v, then %v", launches, before, after)
}
