package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// TestMain makes this test binary the command itself when it is called mdmhost, plugin processes included.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mdmhost": main})
}

// TestScripts runs the scripts of testdata against the real command: real processes, model and runtime.
func TestScripts(t *testing.T) {
	library, err := onnx.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("ROOT", repository(t))
			e.Setenv(onnx.LibraryVariable, library)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "waitlines": waitLines, "inorder": inOrder,
			"exactmodel": exactModel, "exactlaw": exactLaw, "hub": serveHub},
	})
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// exits runs a program and checks its exit code: exits 2 mdmhost sample --steps many.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("expected exit code %d, found %d", want, got)
	}
}

// waitLines waits until a file has so many lines: waitlines FILE N. The deadline only ends a run that hangs.
func waitLines(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && bytes.Count(text, []byte("\n")) >= want {
			return
		}
	}
	ts.Fatalf("%s never had %d lines", args[0], want)
}

// inOrder checks that line i of a JSONL file is row i of N: inorder FILE N.
func inOrder(ts *testscript.TestScript, _ bool, args []string) {
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var row struct{ Index int }
		ts.Check(json.Unmarshal([]byte(line), &row))
		if row.Index != n {
			ts.Fatalf("line %d holds row %d", n+1, row.Index)
		}
		n++
	}
	if fmt.Sprint(n) != args[1] {
		ts.Fatalf("expected %s rows, found %d", args[1], n)
	}
}

// The first signal ends a run in good order, the second at once; both by the signal's exit code.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals []os.Signal
		code    int
		text    string
	}{
		{"terminate", []os.Signal{syscall.SIGTERM}, 143, "\nseed "},
		{"twice", []os.Signal{syscall.SIGINT, syscall.SIGINT}, 130, "Again to stop at once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.txt")
			stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			said := func() string {
				text, err := os.ReadFile(stderr.Name())
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			cmd := exec.Command("mdmhost", "sample", "--model", "rxnmapper-albert", "--length", "400", "--num", "100", "--batch", "2", "--watch", "--out", out)
			cmd.Stderr = stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await := func(what string, done func() bool) {
				for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("never %s: %s", what, said())
					}
				}
			}
			await("began to sample", func() bool {
				_, err := os.Stat(out + ".resume")
				return err == nil
			})
			for _, s := range c.signals {
				if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				await("answered a signal", func() bool { return strings.Contains(said(), "Again to stop at once") })
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.code {
				t.Errorf("expected exit code %d, found %v", c.code, err)
			}
			if !strings.Contains(said(), c.text) {
				t.Errorf("expected %q in %s", c.text, said())
			}
		})
	}
}

// A disk that fills up ends the run with an error that says what is kept; with room again the same command goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root (%v); the package results tests the same with a failing file", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	filler, out := filepath.Join(dir, "filler"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(filler, make([]byte, 48<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	sample := func() (string, int) {
		cmd := exec.Command("mdmhost", "sample", "--model", "rxnmapper-albert", "--length", "2", "--num", "150", "--out", out)
		text, _ := cmd.CombinedOutput()
		return string(text), cmd.ProcessState.ExitCode()
	}
	text, code := sample()
	if want := "no space left on device; "; code != 1 || !strings.Contains(text, want) || !strings.Contains(text, "of 150 rows are kept: make room and run the same command again") {
		t.Fatalf("expected exit code 1 and %q, found %d: %s", want, code, text)
	}
	if kept, _ := os.ReadFile(out); !bytes.HasSuffix(kept, []byte("}\n")) {
		t.Fatalf("expected whole rows, found %q", kept)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if text, code = sample(); code != 0 || !strings.Contains(text, "more kept from the run before") {
		t.Fatalf("going on: exit code %d: %s", code, text)
	}
	if rows, _ := os.ReadFile(out); bytes.Count(rows, []byte("\n")) != 150 {
		t.Errorf("%d rows", bytes.Count(rows, []byte("\n")))
	}
}
