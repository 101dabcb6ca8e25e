package host_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// sampleRows samples rows of tokens and returns the results in their order.
func sampleRows(t *testing.T, h *host.Host, temperature float32, steps int, rows [][]int32) ([]sampling.Result, sampling.Accounts) {
	t.Helper()
	out, next := make([]sampling.Result, len(rows)), 0
	accounts, err := h.Sample(context.Background(), len(rows), func() (sampling.Request, bool) {
		if next++; next > len(rows) {
			return sampling.Request{}, false
		}
		return sampling.Request{Index: int64(next - 1), Tokens: rows[next-1], Steps: steps, Params: sampling.Params{Temperature: temperature, TopP: 1}}, true
	}, func(r sampling.Result) error {
		r.Tokens, r.StepMap = slices.Clone(r.Tokens), slices.Clone(r.StepMap)
		out[r.Index] = r
		return r.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, accounts
}

// rxnfp-bert under the planner rxnmapper-albert writes what a Python loop over the same two files writes (testdata/network.py),
// whatever the batch. A row may differ only where one of its decisions was a near-tie; those rows are counted and listed.
func TestNetworkGolden(t *testing.T) {
	var g goldenModel
	goldenfile.Read(t, "testdata/network.json.gz", &g)
	for i, run := range g.Runs {
		t.Run(fmt.Sprintf("%v steps %d", run.Options, run.Steps), func(t *testing.T) {
			settings := []string{"model=../../../shared/models/rxnfp-bert", "planner=p2", "planner.network=rxnmapper-albert", "runtime.threads=1",
				"sampling.temperature=0", "seed=1", fmt.Sprintf("batch=%d", []int{7, 1}[i%2])}
			for k, v := range run.Options {
				settings = append(settings, fmt.Sprintf("planner.%s=%v", k, v))
			}
			h := open(t, true, settings...)
			got, accounts := sampleRows(t, h, 0, run.Steps, g.Inputs)
			if accounts.ScorePasses != accounts.Passes || accounts.Score <= 0 || len(h.Notes()) > 0 {
				t.Errorf("%d calls of the network beside %d of the denoiser, %v, notes %q", accounts.ScorePasses, accounts.Passes, accounts.Score, h.Notes())
			}
			near, different := 0, 0
			for i, want := range run.Rows {
				r := got[i]
				same := slices.Equal(r.Tokens, want.Tokens) && slices.Equal(r.StepMap, want.StepMap) && r.NFE == want.NFE
				switch {
				case want.Margin < nearTie && !same:
					different++
					fallthrough
				case want.Margin < nearTie:
					near++
				case !same:
					t.Errorf("row %d, margin %.1g (python, then ours):\ntokens %v\n       %v\norder  %v\n       %v\nnfe    %d, %d",
						i, want.Margin, want.Tokens, r.Tokens, want.StepMap, r.StepMap, want.NFE, r.NFE)
				}
			}
			if len(run.Rows)-near < 5 {
				t.Errorf("%d of %d rows are near-ties; expected at least 5 that are none", near, len(run.Rows))
			}
			t.Logf("%d of %d rows are near-ties; %d of them differ", near, len(run.Rows), different)
		})
	}
}

// Same seed, same tokens, whatever the batch and where the planner runs; rows of different lengths share a pass. See
// TestTokensDependOnSeedAlone for the rows that may differ.
func TestScoresDependOnTheRowAlone(t *testing.T) {
	const n = 24
	var rows [][]int32
	rng := rand.New(rand.NewPCG(3, 4))
	var first []sampling.Result
	for _, c := range []struct {
		batch     int
		inProcess bool
	}{{24, false}, {1, true}, {7, true}} {
		h := open(t, c.inProcess, "model=molecule", "planner=p2", "planner.mask_score=trained", "planner.unmask_score=trained", "planner.network=rxnmapper-albert",
			"seed=99", fmt.Sprintf("batch=%d", c.batch))
		for len(rows) < n {
			row, err := h.Model().EncodePrompt("Cc1ccc"[:rng.IntN(7)], 4+rng.IntN(20))
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row.Tokens)
		}
		got, _ := sampleRows(t, h, 1, 6, rows)
		if first == nil {
			first = got
			continue
		}
		different := 0
		for i := range got {
			if !slices.Equal(got[i].Tokens, first[i].Tokens) {
				different++
			}
		}
		t.Logf("batch %d: %d of %d rows differ", c.batch, different, n)
		if different > 1 {
			t.Errorf("batch %d: %d of %d rows differ", c.batch, different, n)
		}
	}
}

// Network and planner need each other; either alone is refused before anything runs.
func TestNetworkAndPlannerBelongTogether(t *testing.T) {
	for _, c := range []struct{ settings, says string }{
		{"planner=p2 planner.unmask_score=bert", "unmask_score bert: expected the planner's own network, and none is named; name one with --set planner.network=DIR"},
		{"planner=confidence planner.network=rxnmapper-albert", "planner.network (--set): INVALID_CONFIG: planner confidence with these options reads no scores of a network; leave it out"},
		{"planner=p2 planner.network=rxnmapper-albert", "planner p2 with these options reads no scores"},
		{"planner=p2 planner.unmask_score=bert planner.network=sudoku", "name a network that was trained on the same tokens"},
		{"planner=p2 planner.unmask_score=bert planner.network=rxnmaper", `planner.network (--set): model "rxnmaper": is neither embedded nor a directory; there are molecule, maze, molecule-insertion, rxnmapper-albert`},
	} {
		t.Run(c.settings, func(t *testing.T) {
			var flags []config.Assignment
			for _, s := range append(strings.Fields(c.settings), "model=molecule") {
				key, value, _ := strings.Cut(s, "=")
				flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set"})
			}
			cfg, err := config.Load(config.Sources{Flags: flags})
			if err != nil {
				t.Fatal(err)
			}
			if h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, expected %q", err, c.says)
				if err == nil {
					_ = h.Close()
				}
			}
		})
	}
}
