package scorer

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

var letters = []string{"a", "b", "c", "d", "?", "_"} // "?" is never unknown here; "_" is the mask

// pass makes candidates of rows: a capital letter is a proposal, "." a position that nobody asks for, holding an "a".
func pass(rows ...string) *sampling.Candidates {
	c := &sampling.Candidates{B: len(rows)}
	for _, r := range rows {
		c.L = max(c.L, len(r))
	}
	for _, r := range rows {
		c.Lengths = append(c.Lengths, len(r))
		for j := range c.L {
			token, proposed, wanted := int32(0), uint8(0), uint8(0)
			if j < len(r) && r[j] != '.' {
				wanted = 1
				text := strings.ToLower(r[j : j+1])
				if text != r[j:j+1] {
					proposed = 1
				}
				token = int32(slices.Index(letters, text))
			}
			c.Tokens, c.Proposed, c.Wanted = append(c.Tokens, token), append(c.Proposed, proposed), append(c.Wanted, wanted)
		}
	}
	return c
}

// logProbability is what a toy over these tokens gives a token at a place where it stands itself.
func logProbability(text string, vocab ...string) float64 {
	sum := 0.0
	for _, b := range vocab {
		sum += math.Exp(float64(pair(text, b)))
	}
	return float64(pair(text, text)) - math.Log(sum)
}

// expected lists the scores of every wanted position, by f of its token and of whether it is a proposal; NaN elsewhere.
func expected(c *sampling.Candidates, f func(text string, proposed bool) float64) []float32 {
	out := make([]float32, c.B*c.L)
	for i := range out {
		if out[i] = float32(math.NaN()); c.Wanted[i] == 1 {
			out[i] = float32(f(letters[c.Tokens[i]], c.Proposed[i] == 1))
		}
	}
	return out
}

// check holds the network's scores against those expected, where they are wanted.
func check(t *testing.T, n *Network, c *sampling.Candidates, want []float32) {
	t.Helper()
	for range 2 { // memory is used again
		got, err := n.Score(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		got = slices.Clone(got)
		for i := range got {
			if c.Wanted[i] == 0 {
				got[i] = float32(math.NaN())
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-5), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// The mask and what the run never writes take no part in the network's softmax, and ids go by texts, whatever their order. An
// export with fixed sizes and one without an attention mask give the same scores in several passes.
func TestScoresOfAVocabularyHead(t *testing.T) {
	denoiser, c := newToy(letters...).write(t), pass("aBc.d", "dA", "bbbCA", "c")
	full := expected(c, func(text string, _ bool) float64 { return logProbability(text, "a", "b", "c", "d", "?") })
	fewer := expected(c, func(text string, _ bool) float64 { return logProbability(text, "a", "b", "c", "d") })
	unmasked := newToy(letters...)
	unmasked.change = func(g *graph.Graph) { g.Inputs = g.Inputs[:1] }
	fixed := newToy(letters...)
	fixed.change = func(g *graph.Graph) {
		for _, p := range append(g.Inputs, g.Outputs...) {
			p.Shape[0], p.Shape[1] = graph.Known(3), graph.Known(7)
		}
	}
	shuffled := newToy("d", "_", "?", "c", "a", "b")
	for name, n := range map[string]*toy{"same ids": newToy(letters...), "other ids": shuffled, "no attention mask": unmasked, "fixed sizes": fixed} {
		for _, head := range []string{"fused", "graph", "go"} {
			t.Run(name+" "+head, func(t *testing.T) {
				dir, option := n.write(t), config.Assignment{Key: "runtime.head", Value: head}
				opened, err := beside(t, denoiser, dir, option)
				if err != nil {
					t.Fatal(err)
				}
				check(t, opened, c, full)
				if len(opened.notes) > 0 {
					t.Errorf("notes %q", opened.notes)
				}
				if opened, err = beside(t, denoiser, dir, option, config.Assignment{Key: "sampling.suppress_tokens", Value: "[4]"}); err != nil {
					t.Fatal(err)
				}
				check(t, opened, c, fewer)
			})
		}
	}
}

func TestScoresOfABinaryHead(t *testing.T) {
	denoiser, c := newToy(letters...).write(t), pass("aBc.d", "dA", "bbbCA")
	want := expected(c, func(text string, proposed bool) float64 {
		x := float64(pair(text, "keep")) + 0.25
		if proposed {
			x = float64(pair(text, "keep")) - 1.5
		}
		return -math.Log1p(math.Exp(-x))
	})
	fixed := newToy(letters...).judge()
	fixed.change = func(g *graph.Graph) {
		for _, p := range append(g.Inputs, g.Outputs...) {
			p.Shape[0], p.Shape[1] = graph.Known(2), graph.Known(6)
		}
	}
	for name, n := range map[string]*toy{"same ids": newToy(letters...).judge(), "other ids": newToy("d", "_", "?", "c", "a", "b").judge(), "fixed sizes": fixed} {
		t.Run(name, func(t *testing.T) {
			opened, err := beside(t, denoiser, n.write(t))
			if err != nil {
				t.Fatal(err)
			}
			check(t, opened, c, want)
		})
	}
	for x, want := range map[float32]float32{0: -0.6931472, 200: 0, -200: -200, 3: -0.04858735, float32(math.Inf(-1)): float32(math.Inf(-1))} {
		if got := logSigmoid(x); math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("log sigmoid(%v) = %v, want %v", x, got, want)
		}
	}
}

// Tokens that the network does not know are read as its unknown token, or as the mask and are scored -inf; either is told.
func TestTokensWithoutACounterpart(t *testing.T) {
	denoiser, c := newToy(letters...).write(t), pass("aBd", "Db")
	with := newToy("a", "b", "c", "?", "_")
	with.unknown = "?"
	without := newToy("a", "b", "c", "_")
	for _, n := range []struct {
		*toy
		note  string
		score float64 // of "d"
		vocab []string
	}{
		{with, `1 of the 5 tokens that model .* may write have no counterpart \("d"\); it reads them as \?`, logProbability("?", "a", "b", "c", "?"), []string{"a", "b", "c", "?"}},
		{without, `2 of the 5 tokens .*\("d", "\?"\); it sees a mask there and scores them -inf`, math.Inf(-1), []string{"a", "b", "c"}},
	} {
		opened, err := beside(t, denoiser, n.write(t))
		if err != nil {
			t.Fatal(err)
		}
		check(t, opened, c, expected(c, func(text string, _ bool) float64 {
			if text == "d" {
				return n.score
			}
			return logProbability(text, n.vocab...)
		}))
		if notes := strings.Join(opened.notes, "\n"); !matches(t, n.note, notes) {
			t.Errorf("notes %q, expected %q", notes, n.note)
		}
	}
}

func TestRefusedNetworks(t *testing.T) {
	denoiser := newToy(letters...).write(t)
	timed := newToy(letters...)
	timed.change = func(g *graph.Graph) {
		g.Inputs = append(g.Inputs, &graph.ValueInfo{Name: "timesteps", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named("b")}})
	}
	for name, c := range map[string]struct{ network, says string }{
		"missing directory": {filepath.Join(t.TempDir(), "none"), `planner.network \(--set\): model .*none: no such directory`},
		"other tokens":      {newToy("a", "x", "y", "z", "_").write(t), `shares 1 of 5 tokens with that of the network \(5 tokens\); missing are "b", "c", "d", "\?"; name a network`},
		"insertion model":   {newToy(letters...).write(t, "mdm.json", `{"family": "insertion"}`), `family is "insertion", expected a planner network`},
		"time":              {timed.write(t, "mdm.json", `{"time": {"input": "t", "noise_at": 1}}`), "takes timesteps, expected a network without"},
		"no graph":          {newToy(letters...).write(t, "model.onnx", "nothing"), "model.onnx"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := beside(t, denoiser, c.network)
			if err == nil || !matches(t, c.says, err.Error()) {
				t.Errorf("error %v, expected %q", err, c.says)
			}
		})
	}
	opened, err := beside(t, denoiser, newToy(letters...).write(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := []sampling.Request{{Tokens: make([]int32, 12)}, {Index: 1, Tokens: make([]int32, 13)}}
	if err = opened.Fits(rows[:1]); err != nil {
		t.Error(err)
	}
	if err = opened.Fits(rows); err == nil || !matches(t, `at most 12 positions, special tokens included, and row 1 has 13; use a smaller --length`, err.Error()) {
		t.Errorf("a row that is too long: %v", err)
	}
	if _, err = opened.Score(t.Context(), pass("abcdabcdabcda")); err == nil || !matches(t, "row of 13 positions, expected at most 12", err.Error()) {
		t.Errorf("a row that is too long: %v", err)
	}
	check(t, opened, pass("ab"), expected(pass("ab"), func(text string, _ bool) float64 { return logProbability(text, "a", "b", "c", "d", "?") }))
}
