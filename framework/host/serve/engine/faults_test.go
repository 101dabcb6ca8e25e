package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
)

// kill ends the processes of plugins of this kind and name, and tells how many there were.
func kill(t *testing.T, kind, name string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		words, err := os.ReadFile(file)
		if err != nil { // it has ended
			continue
		}
		args := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(args) < 4 || !slices.Equal(args[2:4], []string{kind, name}) || !child(pid) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// child tells whether a process is one of this test's.
func child(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	return fields[1] == strconv.Itoa(os.Getpid())
}

// Rows survive the deaths of their planner and of their sampler, and are the same; readers see no step twice.
func TestPluginsDie(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc to find processes in")
	}
	server := []string{"model", "text", "planner", "random", "sampler", "masked"}
	e := served(t, host.Options{}, server...)
	q := text(4, 5, "length", "120")
	q.Steps = true
	want := sampled(t, q, server...)
	a, err := e.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	killed := map[string]int{}
	for _, victim := range []string{"planner", "sampler"} {
		ev, err := a.Next(t.Context())
		if err != nil || ev.Step == nil {
			t.Fatalf("%+v, %v: expected a step", ev, err)
		}
		for end := time.Now().Add(time.Minute); killed[victim] == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) { // it may be on its way back
			killed[victim] = kill(t, victim, map[string]string{"planner": "random", "sampler": "masked"}[victim])
		}
	}
	rows, err := ends(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if diff := cmp.Diff(want[i], row.Tokens); diff != "" || row.Error != "" {
			t.Errorf("row %d: error %q, (-want +got):\n%s", i, row.Error, diff)
		}
	}
	s := e.Stats().Kinds[0]
	if killed["planner"] == 0 || killed["sampler"] == 0 || s.Reopened == 0 || s.Failed != 0 {
		t.Errorf("killed %v; %+v", killed, s)
	}
}

// A sampler that dies while nobody asks is there again for who asks next.
func TestASamplerDiesIdle(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc to find processes in")
	}
	e := served(t, host.Options{}, "model", "text", "planner", "random", "sampler", "masked")
	for round := range 2 {
		a, err := e.Ask(t.Context(), text(2, 1, "length", "5"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := ends(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Error != "" {
				t.Errorf("round %d: %s", round, row.Error)
			}
		}
		if n := kill(t, "sampler", "masked"); round == 0 && n != 1 {
			t.Errorf("killed %d samplers, expected one", n)
		}
	}
}

// Reloads of settings, planners and models, some of which cannot work, cost no request its rows.
func TestReloadsUnderLoad(t *testing.T) {
	e := served(t, host.Options{InProcess: true}, "model", "text", "sampler", "masked")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			for n := uint64(0); ctx.Err() == nil; n++ {
				a, err := e.Ask(t.Context(), text(2, n, "length", "6"))
				if err != nil {
					t.Errorf("client %d, request %d: %v", i, n, err)
					return
				}
				rows, err := ends(t.Context(), a)
				if err != nil {
					t.Error(err)
				}
				for _, r := range rows {
					if r.Error != "" || r.Finish != "complete" {
						t.Errorf("client %d, request %d: %s %s", i, n, r.Finish, r.Error)
					}
				}
			}
		})
	}
	for i, settings := range [][]string{
		{"planner", "random"}, {"planner", "random", "planner.nonsense", "1"}, {"runtime.threads", "1"}, {"runtime.library", "/nowhere.so"}, {"sampling.block_length", "3"},
		{"serve.models", `["text","/nowhere"]`}, {"serve.models", `["text","sudoku"]`}, {"sampling.begin_suppress_tokens", "[100000]"},
	} {
		err := e.Reload(t.Context(), configured(t, append([]string{"model", "text", "sampler", "masked"}, settings...)...))
		if fails := i%2 == 1; (err != nil) != fails {
			t.Errorf("%v: %v", settings, err)
		}
	}
	cancel()
	group.Wait()
	var names []string
	for _, m := range e.Models() {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"text", "sudoku"}, names); diff != "" {
		t.Error(diff)
	}
}

// Rows that grow are those of sample, and every step says what stands where.
func TestRowsThatGrow(t *testing.T) {
	server := []string{"model", "stars"}
	e := served(t, host.Options{InProcess: true}, server...)
	q := engine.Question{Num: 3, Steps: true, Ask: nil}
	seed := uint64(3)
	q.Seed = &seed
	want := sampled(t, q, server...)
	a, err := e.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ended := 0; ended < a.Rows(); {
		ev, err := a.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s := ev.Step; s != nil {
			if len(s.Guess) != len(s.Tokens) || len(s.Flags) != len(s.Tokens) {
				t.Errorf("row %d, step %d: %d tokens, %d flags, %d guesses", ev.Row, s.Step, len(s.Tokens), len(s.Flags), len(s.Guess))
			}
			for _, i := range s.Opened {
				if s.Tokens[i] == a.Model().MaskID {
					t.Errorf("row %d, step %d: position %d was written and holds the mask", ev.Row, s.Step, i)
				}
			}
			continue
		}
		ended++
		if diff := cmp.Diff(want[ev.Row], ev.Done.Tokens); diff != "" {
			t.Errorf("row %d (-sample +serve):\n%s", ev.Row, diff)
		}
		if ev.Done.Error != "" || ev.Done.Length == 0 {
			t.Errorf("%+v", ev.Done)
		}
	}
}
