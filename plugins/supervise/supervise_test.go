package supervise_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

const eligible = sampling.Masked | sampling.Eligible

// step has two rows with a history.
func step() *sampling.Step {
	return &sampling.Step{Run: "r", Rows: []sampling.Row{
		{Index: 4, Step: 1, Token: []int32{9, 9, 9}, Flags: []sampling.Flags{eligible, eligible, eligible}, Entropy: []float32{.5, .25, .75}},
		{Index: 5, Step: 1, Token: []int32{9, 9}, Flags: []sampling.Flags{eligible, eligible}, Entropy: []float32{.5, .75}},
	}}
}

// shortDir is a temporary folder whose path leaves room for sockets, unlike those of t.TempDir.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "mdm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// launch starts a first-party plugin of this test binary and checks, at the end, that nothing is left of it.
func launch(t *testing.T, spec supervise.Spec) (*supervise.Process, error) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Setenv("TMPDIR", shortDir(t))
	if spec.Kind == "" {
		spec.Kind = sampling.KindPlanner
	}
	p, err := supervise.Launch(context.Background(), spec)
	t.Cleanup(func() {
		pid := 0
		if p != nil {
			pid = p.Pid()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if pid != 0 && syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d lives on", pid)
		}
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
		// go-plugin's own stream for brokered connections ends when gRPC notices that its connection is gone, which can
		// take longer on a busy machine than this check waits.
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/hashicorp/go-plugin.(*gRPCBrokerClientImpl).StartStream"))
	})
	return p, err
}

func started(t *testing.T, spec supervise.Spec) (*supervise.Process, sampling.Planner) {
	t.Helper()
	p, err := launch(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	planner := p.Planner()
	if _, err := planner.Start(context.Background(), sampling.Run{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	return p, planner
}

func plan(planner sampling.Planner, step *sampling.Step) ([]sampling.Decision, error) {
	out := make([]sampling.Decision, len(step.Rows))
	return out, planner.Plan(context.Background(), step, out)
}

// check compares an error with its whole text; "*" stands for anything.
func check(t *testing.T, err error, code sampling.Code, want string) {
	t.Helper()
	var e *sampling.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error %v, want code %s", err, code)
	}
	rest := err.Error()
	for i, part := range strings.Split(want, "*") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			t.Fatalf("error\n%s\nwant\n%s", err, want)
		}
		rest = rest[at+len(part):]
	}
	if rest != "" && !strings.HasSuffix(want, "*") {
		t.Fatalf("error\n%s\nwant\n%s", err, want)
	}
}

// decidesAsCalm asks the planner calm, told to open two positions, for several steps.
func decidesAsCalm(t *testing.T, planner sampling.Planner) {
	t.Helper()
	for range 3 {
		out, err := plan(planner, step())
		if err != nil {
			t.Fatal(err)
		}
		want := []sampling.Decision{{Open: []int32{1, 0}, Metrics: map[string]float64{"sum": .5}}, {Open: []int32{0, 1}, Metrics: map[string]float64{"sum": .5}}}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAPlannerFromDescriptionToEnd(t *testing.T) {
	p, err := launch(t, supervise.Spec{Name: "calm"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	want, _ := calm().Describe(ctx)
	if diff := cmp.Diff(want, p.Description()); diff != "" {
		t.Error(diff)
	}
	planner := p.Planner()
	needs, err := planner.Start(ctx, sampling.Run{ID: "r", Options: []byte(`{"k": 2}`)})
	if err != nil || needs.String() != "entropy(on=model)" {
		t.Fatalf("needs %v, %v", needs, err)
	}
	decidesAsCalm(t, planner)
	if err := planner.End(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = planner.Start(ctx, sampling.Run{Options: []byte(`{"k": 0, "gama": 1}`)})
	check(t, err, sampling.InvalidConfig, "planner calm: INVALID_CONFIG: option k: expected a whole number of at least 1, found 0; option gama: unknown; did you mean gamma?; *")
}

func TestFaultsInPlan(t *testing.T) {
	for name, c := range map[string]struct {
		code sampling.Code
		want string
	}{
		"exits":      {sampling.Crashed, "planner exits: CRASHED: the process exited with status 3 during Plan; its log says: out of cheese; *"},
		"panics":     {sampling.Internal, "planner panics: INTERNAL: panic in the plugin: row 4 is odd (plugin_test.go:*); *"},
		"crashes":    {sampling.Crashed, "planner crashes: CRASHED: the process exited with status 2 during Plan; its log says: panic: in the background; `--set plugins.log=debug` shows the plugin's log; report it to the plugin's author"},
		"segfaults":  {sampling.Crashed, "planner segfaults: CRASHED: the process exited with status 2 during Plan; its log says: SIGSEGV: segmentation violation; `--set *"},
		"hangs":      {sampling.Timeout, "planner hangs: TIMEOUT: no answer to Plan within 1s; the process was stopped; raise planner.deadline, or look for what holds it up in its log"},
		"dies":       {sampling.Crashed, "planner dies: CRASHED: the process exited with status 4 during Plan; *"},
		"few-rows":   {sampling.ContractViolation, "planner few-rows: CONTRACT_VIOLATION: 0 decisions, expected 2, one per row of the step; the plugin breaks the protocol; report it to its author"},
		"nan-metric": {sampling.ContractViolation, "planner nan-metric, row 1 of the step: CONTRACT_VIOLATION: metric gain is NaN, expected a finite number; *"},
		"negative":   {sampling.ContractViolation, "planner negative, row 1 of the step: CONTRACT_VIOLATION: open -1, expected a number of at least 0; *"},
		"lopsided":   {sampling.ContractViolation, "planner lopsided, row 1 of the step: CONTRACT_VIOLATION: overwrite: 2 positions and 1 tokens, expected as many; *"},
		"nan-time":   {sampling.ContractViolation, "planner nan-time, row 1 of the step: CONTRACT_VIOLATION: next_t NaN, expected a time from 0 to 1; *"},
		"raises":     {sampling.Internal, "planner raises: INTERNAL: Exception calling application: KeyError; `--set plugins.log=debug` shows the plugin's log"},
		"environment": {sampling.Crashed, "planner environment: CRASHED: the process exited with status 1 during Plan; its log says: environment: " +
			"MDMHOST_LIFELINE_FD=3 MDMHOST_SHARED_FD=4 MDMHOST_PLUGIN=* PLUGIN_*"},
	} {
		t.Run(name, func(t *testing.T) {
			deadlines := supervise.Deadlines{Raise: "raise planner.deadline"}
			if c.code == sampling.Timeout {
				deadlines.Call = time.Second
			}
			_, planner := started(t, supervise.Spec{Name: name, Deadlines: deadlines})
			_, err := plan(planner, step())
			check(t, err, c.code, c.want)
			if name == "environment" && strings.Contains(err.Error(), "PATH=") {
				t.Error("the host's environment leaks:", err)
			}
			// A plugin that only refused, or let a panic through, is alive; the others start anew with the next run.
			if _, err := planner.Start(context.Background(), sampling.Run{ID: "next"}); err != nil {
				t.Error("the next run does not start:", err)
			}
			if err := planner.End(context.Background()); err != nil && name != "raises" && c.code != sampling.ContractViolation {
				t.Error(err)
			}
		})
	}
}

func TestAStoppedPluginIsKilled(t *testing.T) {
	p, planner := started(t, supervise.Spec{Name: "calm", Deadlines: supervise.Deadlines{Call: time.Second}})
	stop(t, p.Pid())
	_, err := plan(planner, step())
	check(t, err, sampling.Timeout, "planner calm: TIMEOUT: no answer to Plan within 1s; *")
}

func TestAStoppedPluginIsClosed(t *testing.T) {
	p, _ := started(t, supervise.Spec{Name: "calm"})
	stop(t, p.Pid())
	// launch checks that Close ends it.
}

// tally counts what is written and remembers whether anything was left out.
type tally struct {
	bytes   int
	notices int
}

func (c *tally) Write(p []byte) (int, error) {
	c.bytes += len(p)
	c.notices += strings.Count(string(p), "prints more than 1 MiB a second")
	return len(p), nil
}

func TestAFloodIsCutButNotItsEnd(t *testing.T) {
	var shown tally
	p, planner := started(t, supervise.Spec{Name: "floods", Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &shown})})
	_, err := plan(planner, step())
	check(t, err, sampling.Crashed, "planner floods: CRASHED: the process exited with status 3 during Plan; *| out of ink; *")
	if err := p.Close(); err != nil { // nothing is written any more
		t.Fatal(err)
	}
	if shown.notices == 0 || shown.bytes > flooded/2 {
		t.Errorf("the log has %d bytes of %d and says %d times that some are left out", shown.bytes, flooded, shown.notices)
	}
}

func TestServeDoesNotReturn(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	p, err := launch(t, supervise.Spec{Name: "returns", Env: []string{"NOTE=" + note}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(note); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the main function went on after Serve: %v", err)
	}
}

func TestPrintingIsHarmless(t *testing.T) {
	_, planner := started(t, supervise.Spec{Name: "prints"})
	for range 3 {
		if _, err := plan(planner, step()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestart(t *testing.T) {
	note := func(t *testing.T) supervise.Spec {
		return supervise.Spec{Env: []string{"DEATH_NOTE=" + filepath.Join(t.TempDir(), "note")}}
	}
	t.Run("a pure planner is asked again", func(t *testing.T) {
		spec := note(t)
		spec.Name = "dies-once"
		p, planner := started(t, spec)
		before := p.Pid()
		out, err := plan(planner, step())
		if err != nil || len(out[1].Open) != 1 || p.Pid() == before {
			t.Fatalf("decisions %v, %v; process %d, then %d", out, err, before, p.Pid())
		}
	})
	t.Run("others are not in the middle of a row", func(t *testing.T) {
		spec := note(t)
		spec.Name = "forgets"
		_, planner := started(t, spec)
		_, err := plan(planner, step())
		check(t, err, sampling.Crashed, "planner forgets: CRASHED: the process exited with status 7 during Plan; *")
		_, err = plan(planner, step())
		check(t, err, sampling.Crashed, "planner forgets: CRASHED: it is not running; *")
	})
	t.Run("others are in their first step", func(t *testing.T) {
		spec := note(t)
		spec.Name = "forgets"
		_, planner := started(t, spec)
		s := step()
		s.Rows[0].Step, s.Rows[1].Step = 0, 0
		if out, err := plan(planner, s); err != nil || len(out[0].Open) != 1 {
			t.Fatalf("decisions %v, %v", out, err)
		}
	})
	t.Run("killed from outside", func(t *testing.T) {
		p, planner := started(t, supervise.Spec{Name: "calm"})
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := plan(planner, step()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCancelInterruptsPlan(t *testing.T) {
	_, planner := started(t, supervise.Spec{Name: "hangs"})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	s := step()
	if err := planner.Plan(ctx, s, make([]sampling.Decision, len(s.Rows))); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestStartRefuses(t *testing.T) {
	p, err := launch(t, supervise.Spec{Name: "refuses"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Planner().Start(context.Background(), sampling.Run{})
	check(t, err, sampling.InvalidConfig, "planner refuses: INVALID_CONFIG: it needs a warmer model")
}

func TestLaunchDiagnoses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self[18], self[19] = 0xf3, 0 // the machine of the ELF header: RISC-V
	quick := supervise.Deadlines{Start: 500 * time.Millisecond, Raise: "raise planner.start"}
	for name, c := range map[string]struct {
		spec supervise.Spec
		code sampling.Code
		want string
	}{
		"missing":        {supervise.Spec{Path: "./no/such"}, sampling.InvalidConfig, "planner ./no/such: INVALID_CONFIG: there is no file ./no/such; check the path; *"},
		"folder":         {supervise.Spec{Path: dir, Name: "dir"}, sampling.InvalidConfig, "planner dir: INVALID_CONFIG: * is a folder, expected a plugin's binary; *"},
		"not executable": {supervise.Spec{Path: file("plain", "#!/bin/sh\n", 0o600), Name: "plain"}, sampling.InvalidConfig, "planner plain: INVALID_CONFIG: * is not executable; chmod +x *"},
		"architecture":   {supervise.Spec{Path: file("riscv", string(self), 0o700), Name: "riscv"}, sampling.InvalidConfig, "planner riscv: INVALID_CONFIG: it is built for riscv, this machine is *; build the plugin for *"},
		"no program":     {supervise.Spec{Path: file("text", "hello", 0o700), Name: "text"}, sampling.InvalidConfig, "planner text: INVALID_CONFIG: it is not a program that this system runs; *"},
		"interpreter":    {supervise.Spec{Path: file("script", "#!/no/python\n", 0o700), Name: "script"}, sampling.InvalidConfig, "planner script: INVALID_CONFIG: the interpreter that its first line names is missing; *"},
		"greets":         {supervise.Spec{}, sampling.UnsupportedProtocol, `planner greets: UNSUPPORTED_PROTOCOL: it printed "Welcome to my planner!" on standard output before the handshake; *`},
		"chatters":       {supervise.Spec{}, sampling.UnsupportedProtocol, `planner chatters: UNSUPPORTED_PROTOCOL: it printed "lalala*..." on standard output before the handshake; *`},
		"quits":          {supervise.Spec{}, sampling.Crashed, "planner quits: CRASHED: it exited with status 5 before the handshake; its log says: no licence found; *"},
		"nothing":        {supervise.Spec{}, sampling.Crashed, "planner nothing: CRASHED: it exited with status 2 before the handshake; its log says: there is no plugin nothing; *"},
		"silent":         {supervise.Spec{Deadlines: quick}, sampling.Timeout, "planner silent: TIMEOUT: no handshake within 500ms; the process was stopped; *raise planner.start"},
		"protocol3":      {supervise.Spec{}, sampling.UnsupportedProtocol, "planner protocol3: UNSUPPORTED_PROTOCOL: it speaks protocol version 3, this host speaks version 1; *"},
		"tcp1":           {supervise.Spec{}, sampling.UnsupportedProtocol, "planner tcp1: UNSUPPORTED_PROTOCOL: its handshake is not one of this host: *"},
		"cookie":         {supervise.Spec{Path: file("other", "#!/bin/sh\necho 'This binary is a plugin.' >&2; exit 1\n", 0o700), Name: "other"}, sampling.Crashed, "planner other: CRASHED: it exited with status 1 before the handshake; its log says: This binary is a plugin.; *"},
		"masked":         {supervise.Spec{}, sampling.UnsupportedProtocol, "planner masked: UNSUPPORTED_PROTOCOL: it is not a planner; *"},
		"reserved":       {supervise.Spec{Name: "calm", Env: []string{"A=b", "MDMHOST_SHARED_FD=9"}}, sampling.InvalidConfig, `planner calm: INVALID_CONFIG: environment "MDMHOST_SHARED_FD=9": expected the name of a variable, *`},
		"kind":           {supervise.Spec{Kind: "exporter", Name: "onnx"}, sampling.InvalidConfig, "exporter onnx: INVALID_CONFIG: no plugin of this kind can be started; kinds are planner, sampler and trainer"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.spec.Path == "" && c.spec.Name == "" {
				c.spec.Name = name
			}
			_, err := launch(t, c.spec)
			check(t, err, c.code, c.want)
		})
	}
}

func TestLaunchIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := supervise.Launch(ctx, supervise.Spec{Kind: sampling.KindPlanner, Name: "silent"})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
