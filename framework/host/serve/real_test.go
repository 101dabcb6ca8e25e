package serve_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// answered is what the tests read of an answer.
type answered struct {
	Seed    uint64
	Choices []struct {
		Index        int
		Text, Finish string
		Tokens       []int32
		NFE          int
		Step         *struct {
			Step, Length                  int
			Fixed, Committed, Provisional struct{ Positions, IDs []int32 }
			Opened, Remasked              []int32
		}
	}
	Error *struct{ Message string }
}

// With a real engine an answer has the tokens of `mdmhost sample`, whole or in steps, however many ask at once.
func TestRealEngine(t *testing.T) {
	s := realServer(t)
	const puzzle = ".247.3.15.8.....7.1..85..6.9..518.36...2.6.8....93.....9..74...4.71..29....3.96.7"
	body := `{"text": "` + puzzle + `", "seed": 11, "n": 2, "temperature": 0.7, "planner": {"name": "eb", "options": {"gamma": 0.2}}, "details": true%}`
	want := sampled(t, puzzle)
	check := func(t *testing.T, choices map[int][]int32) {
		t.Helper()
		if diff := cmp.Diff(want, choices); diff != "" {
			t.Errorf("-sample +served\n%s", diff)
		}
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			status, _, text := s.ask(t, "/v1/infill", strings.Replace(body, "%", "", 1))
			var got answered
			if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.Seed != 11 || strings.Count(text, `"step_map":[`) != 2 || strings.Count(text, `"digests":{"model":"`) != 1 {
				t.Errorf("status %d, %v: %s", status, err, text)
				return
			}
			choices := map[int][]int32{}
			for _, c := range got.Choices {
				choices[c.Index] = c.Tokens
			}
			check(t, choices)
		})
	}
	group.Go(func() {
		_, _, text := s.ask(t, "/v1/infill", strings.Replace(body, "%", `, "stream": true`, 1))
		choices, last := map[int][]int32{}, map[int][]int32{}
		list := events(t, text)
		for _, e := range list[:len(list)-1] {
			var got answered
			if err := json.Unmarshal([]byte(e), &got); err != nil || len(got.Choices) != 1 {
				t.Errorf("%v: %s", err, e)
				return
			}
			c := got.Choices[0]
			if c.Step == nil {
				choices[c.Index] = c.Tokens
				continue
			}
			if n := len(c.Step.Fixed.IDs) + len(c.Step.Committed.IDs) + len(c.Step.Provisional.IDs); n > c.Step.Length || c.Step.Length != 81 || len(c.Step.Fixed.IDs) != 81-strings.Count(puzzle, ".") {
				t.Errorf("step %+v", c.Step)
			}
			for _, p := range c.Step.Opened {
				if !slices.Contains(c.Step.Committed.Positions, p) {
					t.Errorf("position %d was opened and is not written: %+v", p, c.Step)
				}
			}
			last[c.Index] = c.Step.Committed.IDs
		}
		check(t, choices)
		if len(last) != 2 || len(last[0]) != strings.Count(puzzle, ".") {
			t.Errorf("the last steps wrote %d and %d positions", len(last[0]), len(last[1]))
		}
	})
	group.Wait()
	for body, want := range map[string]string{
		`{"text": ""}`: `"param":"text"`,
		`{"text": "` + puzzle + `", "steps": -1}`:                                       `"param":"steps"`,
		`{"text": "` + puzzle + `", "planner": {"name": "eb", "options": {"gama": 1}}}`: `"param":"planner.options.gama"`,
		`{"tokens": [99]}`: `"param":"tokens[0]"`,
	} {
		if status, _, text := s.ask(t, "/v1/infill", body); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: status %d: %s", body, status, text)
		}
	}
}

// realServer serves sudoku, with plugins in this process.
func realServer(t *testing.T) *running {
	t.Helper()
	set := settings(t, "serve.listen", "127.0.0.1:0", "model", "sudoku", "runtime.threads", "1")
	e, err := engine.Open(t.Context(), set.Config, host.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return start(t, serve.Options{Engine: serve.Of(e), Settings: set})
}

// sampled are the rows of `mdmhost sample` for the puzzle.
func sampled(t *testing.T, puzzle string) map[int][]int32 {
	t.Helper()
	cfg := settings(t, "model", "sudoku", "runtime.threads", "1", "seed", "11", "num", "2", "sampling.temperature", "0.7", "planner.name", "eb", "planner.gamma", "0.2").Config
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close() //nolint:errcheck // nothing was written
	line, err := json.Marshal(map[string]string{"infill": puzzle})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := results.ReadQuestions("puzzle", bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := results.Requests(h.Model(), h.Config(), asked)
	if err != nil {
		t.Fatal(err)
	}
	out, next := map[int][]int32{}, 0
	_, err = h.Sample(t.Context(), len(rows), func() (sampling.Request, bool) {
		if next == len(rows) {
			return sampling.Request{}, false
		}
		next++
		return rows[next-1], true
	}, func(r sampling.Result) error {
		out[int(r.Index)] = slices.Clone(r.Tokens)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
