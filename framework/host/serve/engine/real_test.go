package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// configured are settings given as on a command line, in pairs.
func configured(t testing.TB, settings ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: assigned("--set ", settings...)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// assigned are settings in pairs of key and value.
func assigned(called string, settings ...string) (out []config.Assignment) {
	for pair := range slices.Chunk(settings, 2) {
		out = append(out, config.Assignment{Key: pair[0], Value: pair[1], Flag: called + pair[0]})
	}
	return out
}

// served is an engine that ends with the test.
func served(t testing.TB, o host.Options, settings ...string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), configured(t, settings...), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// text is a question for rows that begin with a text.
func text(num int, seed uint64, settings ...string) engine.Question {
	return engine.Question{Ask: []results.Question{{Kind: results.Prompt, Place: "prompt"}}, Num: num, Seed: &seed, Settings: assigned("", settings...)}
}

// ends reads an answer to its end and holds each row's steps against each other.
func ends(ctx context.Context, a *engine.Answer) ([]results.Row, error) {
	out, steps := make([]results.Row, a.Rows()), make([]int, a.Rows())
	defer a.Close()
	for {
		e, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch {
		case e.Done != nil && out[e.Row].Finish != "":
			return nil, errors.New("a row ended twice")
		case e.Done != nil:
			out[e.Row] = *e.Done
		case e.Step.Step+1 <= steps[e.Row] || out[e.Row].Finish != "":
			return nil, errors.New("a step came twice, or after the end")
		default:
			steps[e.Row] = e.Step.Step + 1
		}
	}
}

// sampled are the tokens of `mdmhost sample` with the same settings.
func sampled(t *testing.T, q engine.Question, settings ...string) [][]int32 {
	t.Helper()
	cfg := configured(t, settings...)
	cfg, err := cfg.With(append(q.Settings, assigned("", "num", fmt.Sprint(q.Num), "seed", fmt.Sprint(*q.Seed))...)...)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	rows, _, err := results.Requests(h.Model(), h.Config(), q.Ask)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int32, len(rows))
	_, err = h.Sample(t.Context(), len(rows), func() (r sampling.Request, ok bool) {
		if len(rows) == 0 {
			return r, false
		}
		r, rows = rows[0], rows[1:]
		return r, true
	}, func(r sampling.Result) error {
		out[r.Index] = slices.Clone(r.Tokens)
		return r.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Requests that run together get the rows that `mdmhost sample` draws for each alone, whatever their settings.
func TestRowsAreThoseOfSample(t *testing.T) {
	server := []string{"model", "text", "sampler", "masked"}
	questions := []engine.Question{
		text(3, 11, "length", "12"), text(2, 12, "length", "7", "sampling.top_p", "0.8"), text(1, 13, "length", "12", "steps", "3"),
		text(2, 14, "length", "9", "sampling.temperature", "0.7", "sampling.top_k", "5"), text(2, 15, "length", "8", "planner", "random"),
		text(2, 16, "length", "10", "sampling.temperature", "0"),
	}
	e := served(t, host.Options{}, server...)
	got := make([][]results.Row, len(questions))
	var group sync.WaitGroup
	for i, q := range questions {
		q.Steps = i%2 == 0
		a, err := e.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			rows, err := ends(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			got[i] = rows
		})
	}
	group.Wait()
	for i, q := range questions {
		want := sampled(t, q, server...)
		for j, row := range got[i] {
			if row.Error != "" || row.Seed != *q.Seed {
				t.Errorf("question %d, row %d: seed %d, error %q", i, j, row.Seed, row.Error)
			}
			if diff := cmp.Diff(want[j], row.Tokens); diff != "" {
				t.Errorf("question %d, row %d (-sample +serve):\n%s", i, j, diff)
			}
		}
	}
	for _, s := range e.Stats().Kinds {
		t.Logf("%+v", s)
	}
}
