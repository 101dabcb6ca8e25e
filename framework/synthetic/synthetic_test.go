package synthetic_test

import (
	"bufio"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/synthetic"
)

// Every graph is a star with its answer, whatever its sizes.
func TestStars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := synthetic.StarSizes[rapid.SampledFrom([]string{"tiny", "small", "long", "easy", "medium", "hard"}).Draw(t, "size")]
		if rapid.Bool().Draw(t, "own") {
			s.Symmetric = rapid.Bool().Draw(t, "symmetric")
			s.Degree = rapid.IntRange(1, 6).Draw(t, "degree")
			if s.Plan = 0; !s.Symmetric {
				s.Plan = rapid.IntRange(0, 4).Draw(t, "plan")
			}
			s.Shortest = max(2, s.Plan+1) + rapid.IntRange(0, 3).Draw(t, "shortest")
			s.Longest = s.Shortest + rapid.IntRange(0, 3).Draw(t, "longest")
			s.IDs = min(62, s.Degree*(s.Longest-1)+1+rapid.IntRange(0, 5).Draw(t, "spare"))
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		g := s.Graph(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		next, nodes := map[int][]int{}, map[int]bool{}
		for _, e := range g.Edges {
			next[e[0]] = append(next[e[0]], e[1])
			nodes[e[0]], nodes[e[1]] = true, true
		}
		if len(nodes) != len(g.Edges)+1 {
			t.Errorf("%d nodes and %d edges, which is no tree", len(nodes), len(g.Edges))
		}
		for v := range nodes {
			if v < 0 || v >= s.IDs {
				t.Errorf("node %d, expected below %d", v, s.IDs)
			}
			if v != g.Junction && len(next[v]) > 1 {
				t.Errorf("node %d, which is not the junction, has %d edges onwards", v, len(next[v]))
			}
		}
		if s.Plan > 0 || s.Symmetric {
			if len(next[g.Junction]) != s.Degree {
				t.Errorf("%d arms, expected %d", len(next[g.Junction]), s.Degree)
			}
		}
		at := slices.Index(g.Path, g.Junction)
		if n := len(g.Path); n < s.Shortest || n > s.Longest || at < 0 || n-1-at < s.Plan || s.Symmetric && at != 0 {
			t.Errorf("path of %d nodes with the junction at %d", n, at)
		}
		if g.Path[0] != g.Source || g.Path[len(g.Path)-1] != g.Goal {
			t.Error("the path does not lead from source to goal")
		}
		for i := range len(g.Path) - 1 {
			if !slices.Contains(next[g.Path[i]], g.Path[i+1]) {
				t.Errorf("the path takes an edge that is not there: %d to %d", g.Path[i], g.Path[i+1])
			}
		}
		row := g.Row()
		prompt, text := s.Limits()
		if len(row.Prompt) != 2*len(g.Edges)+3 || len(row.Prompt) > prompt || len(row.Text) != 2*(len(g.Path)-1) || len(row.Text) > text || len(row.Distance) != len(row.Text) {
			t.Errorf("prompt of %d characters, text of %d, distances of %d", len(row.Prompt), len(row.Text), len(row.Distance))
		}
	})
}

func TestStarRow(t *testing.T) {
	g := synthetic.Graph{Edges: [][2]int{{2, 61}, {0, 1}, {26, 0}, {1, 3}}, Source: 26, Goal: 3, Junction: 1, Path: []int{26, 0, 1, 3}}
	want := synthetic.Row{Prompt: "c9abAabdAd>", Text: "Aaabbd", Distance: []int{2, 1, 1, 0, 0, 1}}
	if diff := cmp.Diff(want, g.Row()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	change := func(of func(*synthetic.Stars)) synthetic.Task {
		s := synthetic.StarSizes["medium"]
		of(&s)
		return s
	}
	for want, task := range map[string]synthetic.Task{
		"ids: expected at least 16":       change(func(s *synthetic.Stars) { s.IDs = 15 }),
		"ids: expected at most 62":        change(func(s *synthetic.Stars) { s.IDs = 63 }),
		"degree: expected at least 1":     change(func(s *synthetic.Stars) { s.Degree = 0 }),
		"plan: expected at least 0":       change(func(s *synthetic.Stars) { s.Plan = -1 }),
		"arms: expected at least 4":       change(func(s *synthetic.Stars) { s.Plan = 3 }),
		"arms: expected at least 7":       change(func(s *synthetic.Stars) { s.Shortest = 7 }),
		"plan: has no meaning":            change(func(s *synthetic.Stars) { s.Symmetric = true }),
		"expected even ones from 2 to 64": synthetic.Brackets{Lengths: []synthetic.Share{{Length: 3, Share: 1}}},
		"expected every length once":      synthetic.Brackets{Lengths: []synthetic.Share{{Length: 4, Share: .5}, {Length: 4, Share: .5}}},
		"add up to 1, found 0":            synthetic.Brackets{},
	} {
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", task, err, want)
		}
	}
}

// far is a bound on the distance of a share of n from p that chance passes less than once in 10^7 cases (Bernstein).
func far(p float64, n int) float64 {
	l := math.Log(2e7)
	return math.Sqrt(2*p*(1-p)*l/float64(n)) + 2*l/(3*float64(n))
}

// Balanced strings have the lengths of the law, and those of one length are equally likely: 2 + 14 of them, false alarm
// each share is within a bound that chance passes less than once in 10^7 cases.
func TestBrackets(t *testing.T) {
	const n = 40000
	b := synthetic.Brackets{Lengths: []synthetic.Share{{Length: 4, Share: 0.25}, {Length: 8, Share: 0.75}}}
	rng, count := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range n {
		text := b.Draw(rng).Text
		if !synthetic.Balanced(text) {
			t.Fatalf("%s is not balanced", text)
		}
		count[text]++
	}
	if len(count) != 2+14 {
		t.Errorf("%d different strings, expected 16", len(count))
	}
	for text, k := range count {
		p := 0.125
		if len(text) == 8 {
			p = 0.75 / 14
		}
		if got := float64(k) / n; math.Abs(got-p) > far(p, n) {
			t.Errorf("%s: share %.4f, expected %.4f", text, got, p)
		}
	}
	long := synthetic.Brackets{Lengths: []synthetic.Share{{Length: 64, Share: 1}}}
	if err := long.Validate(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if text := long.Draw(rng).Text; len(text) != 64 || !synthetic.Balanced(text) {
			t.Errorf("%s is not a balanced string of 64", text)
		}
	}
	for _, text := range []string{"", ")(", "(()", "())", "(a)"} {
		if synthetic.Balanced(text) {
			t.Errorf("%q counts as balanced", text)
		}
	}
}

// The law of the separator's words is that of the reference.
func TestSeparator(t *testing.T) {
	const n = 40000
	rng, count := rand.New(rand.NewPCG(3, 4)), map[string]int{}
	for range n {
		count[synthetic.Separator{}.Draw(rng).Text]++
	}
	sum, entropy := 0.0, 0.0
	for text, k := range count {
		p := synthetic.Separator{}.Probability(text)
		sum, entropy = sum+p, entropy-p*math.Log(p)
		if got := float64(k) / n; math.Abs(got-p) > far(p, n) {
			t.Errorf("%s: share %.4f, expected %.4f", text, got, p)
		}
	}
	if len(count) != 36 || math.Abs(sum-1) > 1e-12 || math.Abs(entropy-3.409) > 5e-4 {
		t.Errorf("%d strings, mass %v, entropy %.4f nats; expected 36, 1 and 3.409", len(count), sum, entropy)
	}
	if p := (synthetic.Separator{}).Probability("ab|"); p != 0 {
		t.Errorf("a string without a second run has probability %v", p)
	}
}

func rows(t *testing.T, path string) (out []synthetic.Row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r synthetic.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// Files are made anew byte by byte, share no prompts, and have one length of texts where that is asked for.
func TestWrite(t *testing.T) {
	dir, task := t.TempDir(), synthetic.StarSizes["tiny"]
	for _, name := range []string{"a", "b"} {
		if err := synthetic.Write(t.Context(), filepath.Join(dir, name), task, synthetic.Amounts{Train: 3000, Valid: 50, Test: 400}, 7, true); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{}
	for file, n := range map[string]int{"train": 3000, "valid": 50, "test": 400} {
		got := rows(t, filepath.Join(dir, "a", file+".jsonl"))
		if diff := cmp.Diff(got, rows(t, filepath.Join(dir, "b", file+".jsonl"))); diff != "" || len(got) != n {
			t.Errorf("%s: %d rows, expected %d (-first +again):\n%s", file, len(got), n, diff)
		}
		filled := 0
		for _, r := range got {
			if other := all[r.Prompt]; other != "" && other != file {
				t.Errorf("%s is in %s and in %s", r.Prompt, file, other)
			}
			all[r.Prompt] = file
			if len(r.Text) != 4 {
				t.Errorf("%s: text %s, expected 4 characters", file, r.Text)
			}
			if bare := synthetic.Unfilled(r.Text); len(bare) < 4 {
				filled++
				if len(r.Distance) != len(bare) {
					t.Errorf("%s: %d distances for %s", file, len(r.Distance), r.Text)
				}
			}
		}
		if filled == 0 || filled == n {
			t.Errorf("%s: %d of %d rows are filled, expected some", file, filled, n)
		}
	}
	if err := synthetic.Write(t.Context(), filepath.Join(dir, "a"), task, synthetic.Amounts{Test: 1}, 7, false); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("an existing directory: %v", err)
	}
	one := synthetic.Stars{Degree: 1, Shortest: 2, Longest: 2, IDs: 2} // two prompts in all
	err := synthetic.Write(t.Context(), filepath.Join(dir, "c"), one, synthetic.Amounts{Train: 1, Test: 60}, 7, false)
	if err == nil || !strings.Contains(err.Error(), "too few different prompts") {
		t.Errorf("no prompts are left: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v is left (%v), expected the two finished directories", left, err)
	}
}
