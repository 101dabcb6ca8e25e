package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
)

// A configuration that does not work changes nothing; one that does takes over while rows of the other run on.
func TestReload(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: time.Millisecond}
	e := faked(t, f)
	before := asked(t, e, blank(30, 1, 1))
	f.mu.Lock()
	f.opening = []bool{true}
	f.mu.Unlock()
	if err := e.Reload(t.Context(), fakeConfig(t, "serve.max_rows", "1")); !errors.Is(err, errBroken) {
		t.Errorf("reload: %v", err)
	}
	asked(t, e, blank(1, 2, 1)).Close() // more rows than that configuration lets in
	if err := e.Reload(t.Context(), fakeConfig(t, "serve.max_rows", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ask(t.Context(), blank(1, 2, 1)); !isRequest(err) {
		t.Errorf("two rows where one may be: %v", err)
	}
	if diff := cmp.Diff([]string{"complete"}, finishes(t, before)); diff != "" {
		t.Error(diff)
	}
}

// Configurations one after the other cost no request its rows.
func TestManyReloads(t *testing.T) {
	f := &fleet{batch: 4, padding: true}
	e := faked(t, f)
	done := make(chan error)
	go func() {
		defer close(done)
		for i := range 20 {
			if err := e.Reload(context.Background(), fakeConfig(t, "sampling.temperature", []string{"1", "0"}[i%2])); err != nil {
				done <- err
				return
			}
		}
	}()
	for n := uint64(0); ; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests", n)
			return
		default:
			if diff := cmp.Diff([]string{"complete", "complete"}, finishes(t, asked(t, e, blank(3, 2, n)))); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// Models are those of the configuration, by their own names.
func TestModels(t *testing.T) {
	e := faked(t, &fleet{batch: 1}, "serve.models", `["text","sudoku"]`)
	var names []string
	for _, m := range e.Models() {
		names = append(names, m.Name)
		if m.Provider != "fake" || m.V == 0 || m.Digest == "" || m.Opened.IsZero() {
			t.Errorf("%+v", m)
		}
	}
	if diff := cmp.Diff([]string{"text", "sudoku"}, names); diff != "" {
		t.Error(diff)
	}
	_, err := e.Ask(t.Context(), Question{Model: "txt", Num: 1})
	var unknown *UnknownModelError
	if !errors.As(err, &unknown) || err.Error() != `model "txt": is not served here; did you mean text?` {
		t.Errorf("an unknown model: %v", err)
	}
}

// What a server cannot serve is refused when it is opened, with what to do.
func TestRefusedConfigurations(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{"serve.models", `["text","sudoku"]`, "serve.lanes", "1"}, "--set serve.lanes: expected at least one for each of the 2 models of serve.models, found 1; raise it"},
		{[]string{"serve.models", `["text","text"]`}, "has two models that requests would call text"},
		{[]string{"serve.models", `["texd"]`}, `did you mean`},
		{[]string{"planner", "eb", "planner.gama", "1"}, "gama"},
	} {
		f := &fleet{batch: 1}
		e, err := open(t.Context(), fakeConfig(t, c.settings...), host.Options{}, f.make)
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, expected %s", c.settings, err, c.want)
		}
	}
}
