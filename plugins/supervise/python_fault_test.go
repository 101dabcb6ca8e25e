package supervise_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestPythonFaults(t *testing.T) {
	const hint = "; the plugin's log has the stack; report it to the plugin's author"
	for name, c := range map[string]struct {
		code sampling.Code
		want string
	}{
		"raises":     {sampling.Internal, "planner raises, row 4, step 1: INTERNAL: exception in the plugin: KeyError: 'row 4 is odd' (planners.py:* in raises)" + hint},
		"interrupts": {sampling.Internal, "planner interrupts, row 4, step 1: INTERNAL: exception in the plugin: KeyboardInterrupt (planners.py:* in interrupts)" + hint},
		"refuses":    {sampling.Exhausted, "planner refuses, row 4, step 1: EXHAUSTED: no more quota; ask for more"},
		"memory":     {sampling.Exhausted, "planner memory, row 4, step 1: EXHAUSTED: the plugin has no memory left (planners.py:* in *); use a smaller batch, *"},
		"undeclared": {sampling.ContractViolation, `planner undeclared, row 4, step 1: CONTRACT_VIOLATION: p1 did not come: the plugin's needs do not declare it (planners.py:* in <lambda>); add "p1" to needs`},
		"none":       {sampling.ContractViolation, "planner none, row 4, step 1: CONTRACT_VIOLATION: the planner returned NoneType, expected a decision; *"},
		"beyond":     {sampling.ContractViolation, "planner beyond, row 4, step 1: CONTRACT_VIOLATION: open 3, expected a position from 0 to 2 (planners.py:* in <lambda>)*"},
		"mask":       {sampling.ContractViolation, "planner mask, row 4, step 1: CONTRACT_VIOLATION: open: expected whole numbers, found bool; np.flatnonzero makes positions of a condition*"},
		"floats":     {sampling.ContractViolation, "planner floats, row 4, step 1: CONTRACT_VIOLATION: open: expected whole numbers, found float64*"},
		"nan":        {sampling.ContractViolation, "planner nan, row 4, step 1: CONTRACT_VIOLATION: metric gain is nan, expected a finite number*"},
	} {
		t.Run(name, func(t *testing.T) {
			p, planner := started(t, inPython(t, name))
			pid := p.Pid()
			for range 2 {
				_, err := plan(planner, step())
				check(t, err, c.code, c.want)
			}
			if p.Pid() != pid {
				t.Error("the process did not live on")
			}
		})
	}
}

func TestPythonDeaths(t *testing.T) {
	for name, want := range map[string]string{
		"exits":     "planner exits: CRASHED: the process exited with status 1 during Plan; its log says: out of cheese; *",
		"segfaults": "planner segfaults: CRASHED: the process was ended by signal segmentation fault during Plan; its log says: Fatal Python error: Segmentation fault | Stack (most recent call first): | File * in string_at; *",
		"logs":      "planner logs: CRASHED: the process exited with status 1 during Plan; its log says: row 4\nis odd; *",
	} {
		t.Run(name, func(t *testing.T) {
			_, planner := started(t, inPython(t, name))
			_, err := plan(planner, step())
			check(t, err, sampling.Crashed, want)
		})
	}
	_, err := launch(t, inPython(t, "quits"))
	check(t, err, sampling.Crashed, "planner quits: CRASHED: it exited with status 1 before the handshake; its log says: *RuntimeError: no licence found; *")
}

func TestPythonIsAskedAgain(t *testing.T) {
	spec := inPython(t, "dies-once")
	spec.Env = append(spec.Env, "DEATH_NOTE="+filepath.Join(t.TempDir(), "note"))
	_, planner := started(t, spec)
	if out, err := plan(planner, step()); err != nil || len(out[1].Open) != 1 {
		t.Fatal(out, err)
	}
}

// TestWhatPythonPrintsIsLogged: neither print nor C's puts reach the handshake's pipe, whatever they say.
func TestWhatPythonPrintsIsLogged(t *testing.T) {
	spec, lines := logging(inPython(t, "prints"))
	p, planner := started(t, spec)
	if _, err := plan(planner, step()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hello from the author", "|3|unix|", "hello from C"} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestPythonLogsTracebacks(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"raises":     {"@message": "exception in Plan", "@level": "error", "exception": "KeyError: 'row 4 is odd'", "stack": "in raises\n    raise KeyError"},
		"background": {"@message": "exception in thread", "@level": "error", "exception": "ZeroDivisionError: ", "stack": "Traceback (most recent call last):\n"},
		"logs":       {"@message": "row 4\nis odd", "@level": "warn", "entropy": "0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, lines := logging(inPython(t, name))
			p, planner := started(t, spec)
			_, _ = plan(planner, step())
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(lines.String()) {
				var entry map[string]any
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatal(err)
				}
				missing := 0
				for key, part := range want {
					if !strings.Contains(strings.Trim(mustJSON(t, entry[key]), `"`), strings.Trim(mustJSON(t, part), `"`)) {
						missing++
					}
				}
				if missing == 0 {
					return
				}
			}
			t.Errorf("no line of the log has %v:\n%s", want, lines)
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPythonEndsWhenAsked: a thread of the author's that never ends does not hold the process up until it is killed.
func TestPythonEndsWhenAsked(t *testing.T) {
	for _, name := range []string{"calm", "background"} {
		spec, lines := logging(inPython(t, name))
		p, planner := started(t, spec)
		if _, err := plan(planner, step()); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(lines.String(), "the host is done with it") || strings.Contains(lines.String(), "was stopped") {
			t.Errorf("%s was killed, or nothing tells:\n%s", name, lines)
		}
	}
}

func TestPythonIsKilledWhenItHangs(t *testing.T) {
	spec := inPython(t, "hangs")
	spec.Deadlines.Call = time.Second
	p, planner := started(t, spec)
	_, err := plan(planner, step())
	check(t, err, sampling.Timeout, "planner hangs: TIMEOUT: no answer to Plan within 1s; the process was stopped; *")
	if p.Pid() != 0 {
		t.Error("the process lives on")
	}
}

// TestPythonIsKilledAtRandom kills the process between calls; the host notices, and the next run has a new process.
func TestPythonIsKilledAtRandom(t *testing.T) {
	p, planner := started(t, inPython(t, "calm"))
	random := rand.New(rand.NewPCG(7, 7))
	for range 3 {
		for range random.IntN(5) {
			if _, err := plan(planner, step()); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if out, err := plan(planner, step()); err != nil || len(out[0].Open) != 1 { // it is pure
			t.Fatal(out, err)
		}
		if _, err := planner.Start(context.Background(), sampling.Run{ID: "r"}); err != nil {
			t.Fatal(err)
		}
	}
}
