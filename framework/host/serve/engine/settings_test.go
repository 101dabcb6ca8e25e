package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// What requests may not ask for, or what is wrong with it, is said under the name that the client gave it.
func TestRefusedRequests(t *testing.T) {
	e := faked(t, &fleet{batch: 1, padding: true}, "serve.planners", `["mine"]`, "serve.max_positions", "64", "serve.max_rows", "8")
	for _, c := range []struct {
		key, value, param, want string
	}{
		{"planner", "./evil", "planner", `planner "./evil" is not served; there are `}, {"planner", "abracadabra", "planner", ", maskgit, mine, p2, pc_sampler, random"},
		{"planner", "confidance", "planner", "did you mean confidence?"},
		{"sampler.name", "/bin/sh", "sampler.name", "is not served"},
		{"planner.network", "/etc", "planner.network", "is not served"},
		{"runtime.library", "/tmp/evil.so", "runtime.library", "requests cannot set runtime.library"},
		{"plugins.path", "/tmp", "plugins.path", "requests cannot set plugins.path"},
		{"model", "./other", "model", "requests cannot set model"},
		{"out", "/tmp/x", "out", "requests cannot set out"},
		{"num", "100000", "num", "requests cannot set num"},
		{"sampling.temprature", "1", "sampling.temprature", "did you mean sampling.temperature?"},
		{"sampling.temperature", "-1", "sampling.temperature", "expected"},
		{"planner.kk", "1", "planner.kk", "did you mean k?"},
		{"planner.k", "zero", "planner.k", "expected a whole number"},
		{"steps", "65", "steps", "expected at most 64 (serve.max_positions), found 65"},
		{"length", "65", "", "row 0 has 65 positions, expected at most 64 (serve.max_positions)"},
		{"length", "1000", "length", "1000 positions to generate, expected at most"},
	} {
		q := Question{Ask: []results.Question{{Kind: results.Prompt, Place: "prompt"}}, Num: 1}
		q.Settings = append(q.Settings, fakeAssignment(c.key, c.value))
		_, err := e.Ask(t.Context(), q)
		var refused *RequestError
		if !errors.As(err, &refused) || refused.Param != c.param || !strings.Contains(refused.Text, c.want) {
			t.Errorf("%s=%s: %#v, expected %s: %s", c.key, c.value, err, c.param, c.want)
		}
	}
	q := blank(3, 1, 1)
	q.Settings = append(q.Settings, fakeAssignment("planner", "pc_sampler"), fakeAssignment("planner.frequencies", "/etc/passwd"))
	if _, err := e.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "planner.frequencies: names a file, which requests may not") {
		t.Errorf("a file of the server: %v", err)
	}
	for _, ask := range []results.Question{
		{Kind: results.Prompt, Text: "[MASK]", Place: "prompt"}, {Kind: results.Tokens, Tokens: []int32{1 << 20}, Place: "tokens"}, {Kind: results.Infill, Place: "infill"},
	} {
		if _, err := e.Ask(t.Context(), Question{Ask: []results.Question{ask}, Num: 1}); !isRequest(err) {
			t.Errorf("%+v: %v", ask, err)
		}
	}
	texts := Question{Ask: slices.Repeat([]results.Question{{Kind: results.Prompt, Place: "prompt[3]"}}, 9), Num: 1}
	var refused *RequestError
	if _, err := e.Ask(t.Context(), texts); !errors.As(err, &refused) || refused.Param != "prompt" {
		t.Errorf("nine texts: %v", err)
	}
	for _, n := range []int{-1, 0, 9} {
		if _, err := e.Ask(t.Context(), Question{Ask: []results.Question{{Kind: results.Prompt}}, Num: n}); !isRequest(err) {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

// A row that grows is held against what it may grow to: numbers for each token of a large vocabulary at each position fill the memory.
func TestRowsThatGrowTooWide(t *testing.T) {
	m, err := model.Open("molecule-insertion")
	if err != nil {
		t.Fatal(err)
	}
	m.V = 50_000
	cfg := fakeConfig(t, "sampling.draw", "gumbel")
	g := &generation{cfg: cfg}
	for most, fits := range map[int]bool{100: true, 200: false} {
		err := g.bound(&settled{model: m, cfg: cfg}, []sampling.Request{{Tokens: make([]int32, 2), Cap: most}})
		if fits != (err == nil) || !fits && !isRequest(err) {
			t.Errorf("at most %d positions: %v", most, err)
		}
	}
}

// Plugins that are not of this program are not given files that requests name; those of the server's configuration are.
func TestFilesOfOtherPlugins(t *testing.T) {
	about := sampling.Description{OptionsSchema: `{"type": "object", "properties": {"table": {"type": "string", "format": "path"}, "more": {"type": "array", "items": {"format": "path"}}, "k": {"type": "integer"}}}`}
	g, err := faked(t, &fleet{batch: 1, padding: true}, "serve.planners", `["mine"]`).generation()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"planner.table": "names a file, which requests may not", "planner.more": "names a file, which requests may not", "planner.k": "",
	} {
		q := blank(3, 1, 1)
		q.Settings = append(q.Settings, fakeAssignment("planner", "mine"), fakeAssignment(key, "1"))
		s, _, _, err := g.requests(&q)
		if err != nil {
			t.Fatal(err)
		}
		err = refusal(s.vet(about, sampling.Description{}))
		if want == "" && err != nil || want != "" && (!isRequest(err) || !strings.Contains(err.Error(), key+": "+want)) {
			t.Errorf("%s: %v", key, err)
		}
	}
	own, err := faked(t, &fleet{batch: 1, padding: true}, "serve.planners", `["mine"]`, "planner", "mine", "planner.table", "mine.json").generation()
	if err != nil {
		t.Fatal(err)
	}
	q := blank(3, 1, 1)
	q.Settings = append(q.Settings, fakeAssignment("planner.k", "2"))
	if s, _, _, err := own.requests(&q); err != nil || s.vet(about, sampling.Description{}) != nil {
		t.Errorf("a file of the server's configuration: %v", err)
	}
}

// A question that speaks of a planner is told where the sampler does not ask it.
func TestUnaskedPlanner(t *testing.T) {
	for _, c := range []struct{ given, notes []string }{
		{[]string{"planner", "eb"}, nil},
		{[]string{"sampler", "gillespie"}, nil},
		{[]string{"sampler", "gillespie", "planner", "eb"}, []string{"planner eb was not asked: sampler gillespie decides by itself"}},
		{[]string{"sampler", "infogain", "planner.k", "2"}, []string{"planner confidence was not asked: sampler infogain decides by itself"}},
	} {
		g, err := faked(t, &fleet{batch: 1, padding: true}, "planner", "confidence").generation()
		if err != nil {
			t.Fatal(err)
		}
		q := blank(3, 1, 1)
		for i := 0; i < len(c.given); i += 2 {
			q.Settings = append(q.Settings, fakeAssignment(c.given[i], c.given[i+1]))
		}
		if _, _, notes, err := g.requests(&q); err != nil || !slices.Equal(notes, c.notes) {
			t.Errorf("%v: %q, %v", c.given, notes, err)
		}
	}
}

// Lanes are told apart by what their machine depends on, not by what rows bring along.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		server []string
		a, b   []string
		same   bool
	}{
		{"rows of their own", nil, []string{"sampling.temperature", "0.7", "sampling.top_p", "0.9", "steps", "3"}, []string{"sampling.temperature", "1.3", "length", "9"}, true},
		{"another temperature", nil, []string{"sampling.temperature", "1"}, []string{"sampling.temperature", "0.5"}, true},
		{"no draws", nil, []string{"sampling.temperature", "0"}, nil, false},
		{"the planner", nil, []string{"planner", "random"}, nil, false},
		{"its options", nil, []string{"planner.k", "2"}, []string{"planner.k", "3"}, false},
		{"the same options", nil, []string{"planner.k", "2"}, []string{"planner.k", "2", "steps", "5"}, true},
		{"blocks", nil, []string{"sampling.block_length", "4"}, nil, false},
		{"a head that truncates all rows or none", []string{"runtime.head", "graph"}, []string{"sampling.top_p", "0.9"}, []string{"sampling.top_p", "1", "sampling.min_p", "0"}, false},
		{"temperatures that a served head may not have", []string{"runtime.kind", "openinference", "runtime.endpoints", `["grpc://localhost:1"]`}, []string{"sampling.temperature", "0.7"}, []string{"sampling.temperature", "1"}, false},
		{"two of them", []string{"runtime.kind", "openinference", "runtime.endpoints", `["grpc://localhost:1"]`}, []string{"sampling.temperature", "0.7"}, []string{"sampling.temperature", "1.3"}, true},
		{"both truncate", []string{"runtime.head", "graph"}, []string{"sampling.top_p", "0.9"}, []string{"sampling.top_k", "3"}, true},
	} {
		e := faked(t, &fleet{batch: 1, padding: true}, c.server...)
		g, err := e.generation()
		if err != nil {
			t.Fatal(err)
		}
		key := func(settings []string) string {
			q := Question{Num: 1, Ask: []results.Question{{}}}
			for pair := range slices.Chunk(settings, 2) {
				q.Settings = append(q.Settings, fakeAssignment(pair[0], pair[1]))
			}
			s, err := g.settle(g.models["text"], &q)
			if err != nil {
				t.Fatal(err)
			}
			return s.key
		}
		if same := key(c.a) == key(c.b); same != c.same {
			t.Errorf("%s: one lane %t, expected %t", c.name, same, c.same)
		}
	}
}
