package supervise_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// debugged is a plugin of this binary that was started by hand, as a debugger does it.
type debugged struct {
	supervise.Reattach
	cmd    *exec.Cmd
	stderr *bytes.Buffer
}

func startDebugged(t *testing.T, kind sampling.Kind, name string) *debugged {
	t.Helper()
	dir := shortDir(t)
	d := &debugged{cmd: exec.Command(os.Args[0], append(supervise.SelfArgs(kind, name), sdk.DebugFlag)...), stderr: &bytes.Buffer{}}
	d.cmd.Env, d.cmd.Stderr = []string{"TMPDIR=" + dir}, d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	all, err := supervise.ParseReattach(line)
	if err != nil {
		t.Fatal(err)
	}
	for _, d.Reattach = range all {
	}
	if len(all) != 1 || d.Pid != d.cmd.Process.Pid || d.Kind != string(kind) {
		t.Fatalf("%s: %+v, expected one %s of process %d", line, all, kind, d.cmd.Process.Pid)
	}
	t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.interrupt(t)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 && d.cmd.ProcessState.Success() {
			t.Errorf("files are left: %v", left)
		}
	})
	return d
}

// interrupt is Ctrl-C.
func (d *debugged) interrupt(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, d.stderr)
	}
}

// reattached connects to it; the process lives on after the test.
func (d *debugged) connect(t *testing.T, name string) *supervise.Process {
	t.Helper()
	p, err := supervise.Launch(t.Context(), supervise.Spec{Kind: sampling.Kind(d.Kind), Name: name, Reattach: &d.Reattach, MTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// close ends the connection, after which the process must live.
func (d *debugged) close(t *testing.T, p *supervise.Process) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(d.Pid, 0); err != nil {
		t.Errorf("the plugin ended with the run: %v", err)
	}
}

// TestADebuggedPlannerServesRunAfterRun: logits come as bytes, the process outlives each run, and Ctrl-C ends it in good order.
func TestADebuggedPlannerServesRunAfterRun(t *testing.T) {
	d := startDebugged(t, sampling.KindPlanner, "mirror")
	s := step()
	for i := range s.Rows {
		fillRow(&s.Rows[i], float32(i))
	}
	here := mirror()
	if _, err := here.Start(t.Context(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	want, err := plan(here, s)
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	for range 3 {
		p := d.connect(t, "mirror")
		planner := p.Planner()
		if p.Pid() != d.Pid || p.Description().Name != "mirror" {
			t.Errorf("process %d, %+v", p.Pid(), p.Description())
		}
		if _, err := planner.Start(t.Context(), sampling.Run{}); err != nil {
			t.Fatal(err)
		}
		got, err := plan(planner, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := planner.End(t.Context()); err != nil {
			t.Error(err)
		}
		d.close(t, p)
	}
	goleak.VerifyNone(t, before)
	d.interrupt(t)
}

// fillRow gives a row every column of [everything], filled with x.
func fillRow(r *sampling.Row, x float32) {
	n := len(r.Token)
	floats := func(n int) []float32 {
		all := make([]float32, n)
		for i := range all {
			all[i] = x + float32(i)
		}
		return all
	}
	r.V, r.K = 3, 2
	r.Proposal, r.TopIDs = make([]int32, n), make([]int32, n*r.K)
	r.Uniform, r.Gumbel = make([]float64, n), make([]float64, n)
	r.LogpProposal, r.P1, r.P2, r.Entropy = floats(n), floats(n), floats(n), floats(n)
	r.LogpCurrent, r.KLPrev, r.PlannerScore = floats(n), floats(n), floats(n)
	r.TopLogp, r.VocabDot, r.Logits = floats(n*r.K), floats(n*2), floats(n*r.V)
}

// A sampler calls back, in a session of its own for every run.
func TestADebuggedSampler(t *testing.T) {
	d := startDebugged(t, sampling.KindSampler, "masked")
	for range 2 {
		p := d.connect(t, "masked")
		s := p.Sampler()
		if _, err := s.Start(t.Context(), sampling.Run{}); err != nil {
			t.Fatal(err)
		}
		session := &recorder{}
		if err := s.Sample(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		if len(session.asked) != 3 {
			t.Errorf("asked %v", session.asked)
		}
		d.close(t, p)
	}
}

func TestADebuggedTrainer(t *testing.T) {
	d := startDebugged(t, sampling.KindTrainer, "trainer")
	p := d.connect(t, "trainer")
	if _, err := p.Trainer().Build(t.Context(), trainingTask()); err != nil {
		t.Error(err)
	}
	d.close(t, p)
}

// The end of a debugged plugin ends the run, even where another process would be started anew.
func TestADebuggedPluginIsNotRestarted(t *testing.T) {
	d := startDebugged(t, sampling.KindPlanner, "calm")
	p := d.connect(t, "calm")
	defer func() { _ = p.Close() }()
	planner := p.Planner()
	if _, err := planner.Start(t.Context(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	_, err := plan(planner, step())
	check(t, err, sampling.Crashed, "planner calm: CRASHED: the debugged plugin (process "+itoa(d.Pid)+") ended during Plan; start it again with --debug and pass on the line that it prints")
	_, err = planner.Start(t.Context(), sampling.Run{})
	var e *sampling.Error
	if !errors.As(err, &e) || !strings.Contains(e.Problem, "the debugged plugin (process "+itoa(d.Pid)+") ended") {
		t.Errorf("error %v", err)
	}
}

// Two runs at a time would mix in one planner: the second is turned away, and the first goes on.
func TestADebuggedPluginServesOneRunAtATime(t *testing.T) {
	d := startDebugged(t, sampling.KindPlanner, "calm")
	first := d.connect(t, "calm")
	_, err := supervise.Launch(t.Context(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm", Reattach: &d.Reattach})
	check(t, err, sampling.Crashed, "planner calm: CRASHED: the debugged plugin (process "+itoa(d.Pid)+") closed its connection during Describe; *")
	planner := first.Planner()
	if _, err := planner.Start(t.Context(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	if _, err := plan(planner, step()); err != nil {
		t.Error(err)
	}
	d.close(t, first)
}

func TestThereIsNothingToReattachTo(t *testing.T) {
	for name, c := range map[string]struct {
		reattach supervise.Reattach
		want     string
	}{
		"no socket": {supervise.Reattach{Kind: "planner", Pid: 1, Addr: "/no/socket", Protocol: 1}, "planner calm: INVALID_CONFIG: the debugged plugin (process 1) has ended: there is no socket /no/socket; *"},
		"protocol":  {supervise.Reattach{Kind: "planner", Pid: 1, Addr: "/no/socket", Protocol: 7}, "planner calm: INVALID_CONFIG: reattach: protocol: this host speaks version 1, found 7; *"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := supervise.Launch(t.Context(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm", Reattach: &c.reattach})
			check(t, err, sampling.InvalidConfig, c.want)
		})
	}
}

func TestParseReattach(t *testing.T) {
	const one = `{"calm":{"kind":"planner","pid":12,"addr":"/tmp/s","protocol":1}}`
	want := map[string]supervise.Reattach{"calm": {Kind: "planner", Pid: 12, Addr: "/tmp/s", Protocol: 1}}
	for text, want := range map[string]map[string]supervise.Reattach{
		"": nil, " \n": nil, one: want, "MDMHOST_REATTACH='" + one + "'\n": want, "{}": {},
	} {
		got, err := supervise.ParseReattach(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
	for text, want := range map[string]string{
		"calm":     "expected a JSON object such as",
		one + "x":  "expected nothing after the JSON object",
		`{"a":{}}`: `"a": kind: expected planner, sampler or trainer, found ""`,
		`{"a":{"kind":"planner","pid":-1,"addr":"/s","protocol":1}}`: `"a": pid: expected the number of a process, found -1`,
		`{"a":{"kind":"planner","pid":1,"addr":"s","protocol":1}}`:   `"a": addr: expected the absolute path of a socket, found "s"`,
		`{"a":{"kind":"planner","port":1}}`:                          `unknown field "port"`,
	} {
		_, err := supervise.ParseReattach(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "start it again with --debug and pass on the line that it prints") {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzParseReattach(f *testing.F) {
	f.Add(`{"calm":{"kind":"planner","pid":12,"addr":"/tmp/s","protocol":1}}`)
	f.Add("MDMHOST_REATTACH='{}'")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := supervise.ParseReattach(text)
		if err != nil && all != nil {
			t.Error("there is a result beside the error")
		}
		for name, r := range all {
			if r.Pid < 1 || r.Protocol != 1 || !filepath.IsAbs(r.Addr) {
				t.Errorf("%q: %+v", name, r)
			}
		}
	})
}
