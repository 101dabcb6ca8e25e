package supervise_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// screen takes what a log shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// logged is a logger as the command makes it, and what it shows.
func logged(level hclog.Level) (hclog.Logger, *screen) {
	s := &screen{}
	return hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: level, Output: s, DisableTime: true}), s
}

// expect holds what was shown against a text in which "*" stands for anything.
func expect(t *testing.T, shown, want string) {
	t.Helper()
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, `(?s:.*)`)
	if !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(shown) {
		t.Errorf("the log shows\n%s\nwant\n%s", shown, want)
	}
}

// TestStacksAreReadable: whatever way a plugin meets its end, the log at its usual level has its name and lines below it.
func TestStacksAreReadable(t *testing.T) {
	for name, want := range map[string]string{
		"panics": `[ERROR] plugin.panics: panic in /mdmhost.v1.Planner/Plan: panic="row 4 is odd"
  stack=
  | goroutine *
  | *plugin_test.go:*
`,
		"crashes": `[ERROR] plugin.crashes: panic: in the background:
  stack=
  | 
  | goroutine *
  | *plugin_test.go:*
`,
		"segfaults": `[ERROR] plugin.segfaults: SIGSEGV: segmentation violation: lines_left_out=*
  stack=
  | *
  | goroutine *
  | *
`,
		"traces-back": `[ERROR] plugin.traces-back: Traceback (most recent call last):
  stack=
  |   File "mine.py", line 3, in <module>
  |     plan()
  | ValueError: temperature is odd
  
`,
		"exits":  "",
		"prints": "",
	} {
		t.Run(name, func(t *testing.T) {
			log, shown := logged(hclog.Warn)
			p, planner := started(t, supervise.Spec{Name: name, Logger: log})
			_, err := plan(planner, step())
			if err == nil && name != "prints" {
				t.Fatal("no error")
			}
			if name == "panics" {
				check(t, err, sampling.Internal, "planner panics: INTERNAL: panic in the plugin: row 4 is odd (*.go:*); the plugin's log has the stack; *")
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			expect(t, shown.String(), want)
		})
	}
}

// A report that the process outlives is shown soon, not at its end.
func TestAReportThatTheProcessOutlives(t *testing.T) {
	log, shown := logged(hclog.Warn)
	_, planner := started(t, supervise.Spec{Name: "reports", Logger: log})
	if _, err := plan(planner, step()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); shown.String() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the report is never shown")
		}
	}
	expect(t, shown.String(), "[ERROR] plugin.reports: thread 'worker' panicked at src/main.rs:3:5:\n  stack=\n  | odd\n  \n")
}

// A report is bounded, and says what is left out.
func TestALongReport(t *testing.T) {
	log, shown := logged(hclog.Warn)
	p, planner := started(t, supervise.Spec{Name: "reports-long", Logger: log})
	if _, err := plan(planner, step()); err == nil {
		t.Fatal("no error")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, shown.String(), "[ERROR] plugin.reports-long: fatal error: all is lost: lines_left_out=901\n  stack=\n*")
	if lines := strings.Count(shown.String(), "\n  | line "); lines != 99 {
		t.Errorf("%d lines, expected 99", lines)
	}
}

// TestALifeAtDebug: starts with path, process and time, ends and restarts with their reasons, and what the plugin prints.
func TestALifeAtDebug(t *testing.T) {
	log, shown := logged(hclog.Debug)
	note := t.TempDir() + "/note"
	p, planner := started(t, supervise.Spec{Name: "dies-once", Logger: log, Digest: "sha256:ab", Env: []string{"DEATH_NOTE=" + note}})
	first := p.Pid()
	if _, err := plan(planner, step()); err != nil {
		t.Fatal(err)
	}
	second := p.Pid()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, shown.String(), "[DEBUG] plugin.dies-once: started: path="+os.Args[0]+" digest=sha256:ab pid="+itoa(first)+" ms=*\n"+
		"[DEBUG] plugin.dies-once: ended: pid="+itoa(first)+" how=\"the process exited with status 7 during Plan\"\n"+
		"[WARN]  plugin: plugin died and is started again: plugin=\"planner dies-once\" error=\"planner dies-once: CRASHED: the process exited with status 7 during Plan; *\n"+
		"[DEBUG] plugin.dies-once: started: path=*pid="+itoa(second)+" ms=*\n"+
		"*[DEBUG] plugin.dies-once: ended: pid="+itoa(second)+" how=\"the host is done with it\"\n")
}

// TestAPluginThatStays: one that does not end when it is asked to is killed, and the log says so.
func TestAPluginThatStays(t *testing.T) {
	log, shown := logged(hclog.Debug)
	p, err := launch(t, supervise.Spec{Name: "stays", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shown.String(), `how="the host is done with it; it did not end when it was asked to, and was stopped"`) {
		t.Errorf("the log shows\n%s", shown)
	}
}

func TestASlowCallAtDebug(t *testing.T) {
	log, shown := logged(hclog.Debug)
	_, planner := started(t, supervise.Spec{Name: "dawdles", Logger: log})
	if _, err := plan(planner, step()); err != nil {
		t.Fatal(err)
	}
	expect(t, shown.String(), "*[DEBUG] plugin.dawdles: slow call: call=Plan ms=*")
}

// TestADeathBetweenRuns: a planner that nobody asks anything loses nothing by its death.
func TestADeathBetweenRuns(t *testing.T) {
	note := t.TempDir() + "/note"
	p, planner := started(t, supervise.Spec{Name: "forgets", Env: []string{"DEATH_NOTE=" + note}})
	if err := os.WriteFile(note, nil, 0o600); err != nil { // it lives on by itself
		t.Fatal(err)
	}
	for range 3 {
		before := p.Pid()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := planner.Start(t.Context(), sampling.Run{ID: "r"}); err != nil {
			t.Fatal(err)
		}
		if out, err := plan(planner, step()); err != nil || len(out[1].Open) != 1 || p.Pid() == before {
			t.Fatalf("decisions %v, %v; process %d, then %d", out, err, before, p.Pid())
		}
	}
}

// A plugin that cannot live through Start ends the run, after as many tries as in any other step.
func TestADeathInStart(t *testing.T) {
	p, err := launch(t, supervise.Spec{Name: "dies-in-start"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Planner().Start(t.Context(), sampling.Run{})
	check(t, err, sampling.Crashed, "planner dies-in-start: CRASHED: the process exited with status 9 during Start; * (it died 4 times in this run)")
}
