package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/answer"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

func newBench() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast a model, planner and runtime sample on this machine",
		Long: "Measure how fast a model, planner and runtime sample on this machine: rows of nothing but blanks are filled in several\n" +
			"rounds after one that warms up, and the medians over the rounds are printed.",
		Example: "  mdmhost bench\n  mdmhost bench --model ./my-model --planner eb --batch 8 --length 256 --runtime cuda --json",
		Args:    noArgs,
	}
	c.AddCommand(newBenchSampler(), newBenchRuntime())
	s, asJSON := newSettings(c, "model", "planner", "sampler", "runtime", "batch", "length", "steps", "temperature", "top-p", "top-k", "seed"), asJSON(c)
	rounds := c.Flags().Int("rounds", 5, "rounds that count")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *rounds < 1 {
			return usagef("--rounds: expected a whole number from 1, found %d", *rounds)
		}
		cfg, err := benchConfig(c.Context(), s)
		if err != nil {
			return err
		}
		r, err := bench(c.Context(), cfg, *rounds)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, r)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s", r)
		return err
	}
	return c
}

// benchConfig fills in what only a benchmark has defaults for: 8 rows of 64 blanks.
func benchConfig(ctx context.Context, s *settings) (*config.Config, error) {
	cfg, err := s.loadChecked(ctx)
	if err != nil {
		return nil, err
	}
	rows := cfg.Batch
	if rows == 0 {
		rows = 8
	}
	more := []config.Assignment{{Key: "num", Value: fmt.Sprint(rows), Flag: "bench"}, {Key: "batch", Value: fmt.Sprint(rows), Flag: "bench"}}
	if cfg.Length == 0 {
		more = append(more, config.Assignment{Key: "length", Value: "64", Flag: "bench"})
	}
	return cfg.With(more...)
}

// benchmark is what was measured; times are medians over the rounds.
type benchmark struct {
	Model        string   `json:"model"`
	Planner      string   `json:"planner"`
	Sampler      string   `json:"sampler"`
	Provider     string   `json:"provider"`
	Notes        []string `json:"notes,omitempty"`
	CPU          string   `json:"cpu"`
	Rounds       int      `json:"rounds"`
	Rows         int      `json:"rows"`
	Length       int      `json:"length"` // positions of a row, special tokens included
	NFE          int      `json:"nfe"`    // forward passes of a round
	TokensPerNFE float64  `json:"tokens_per_nfe"`
	MSPerNFE     float64  `json:"ms_per_nfe"`
	DenoiseMS    float64  `json:"denoise_ms_per_nfe"`
	PlanMS       float64  `json:"plan_ms_per_nfe"`
	PlannerShare float64  `json:"planner_share"`
	TokensPerSec float64  `json:"tokens_per_second"`

	Digests map[string]string `json:"digests"` // of the model and its parts, by what they are
}

// String is a short table.
func (b benchmark) String() string {
	s := fmt.Sprintf(`model       %s, planner %s, sampler %s
ran on      %s; %s
rows        %d of %d positions, rounds %d
NFE         %d forward passes a round, %.2f tokens per NFE of a row
speed       %.3f ms per NFE (denoiser %.3f, planner %.3f: %.1f%%), %.0f tokens per second
`, b.Model, b.Planner, b.Sampler, b.Provider, b.CPU, b.Rows, b.Length, b.Rounds, b.NFE, b.TokensPerNFE,
		b.MSPerNFE, b.DenoiseMS, b.PlanMS, 100*b.PlannerShare, b.TokensPerSec)
	for _, n := range b.Notes {
		s += "note        " + n + "\n"
	}
	return s
}

// bench runs the rounds.
func bench(ctx context.Context, cfg *config.Config, rounds int) (_ benchmark, err error) {
	h, err := host.Open(ctx, cfg, options(cfg))
	if err != nil {
		return benchmark{}, err
	}
	defer func() {
		if closing := h.Close(); err == nil {
			err = closing
		}
	}()
	rows, _, err := results.Requests(h.Model(), h.Config(), []results.Question{{Kind: results.Prompt, Place: "bench"}})
	if err != nil {
		return benchmark{}, err
	}
	var all []sampling.Accounts
	for range rounds + 1 {
		next := 0
		a, err := h.Sample(ctx, len(rows), func() (sampling.Request, bool) {
			if next == len(rows) {
				return sampling.Request{}, false
			}
			next++
			return rows[next-1], true
		}, func(r sampling.Result) error { return r.Err })
		if err != nil {
			return benchmark{}, err
		}
		all = append(all, a)
	}
	all = all[1:]
	median := func(of func(sampling.Accounts) float64) float64 {
		var values []float64
		for _, a := range all {
			values = append(values, of(a))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	perPass := func(d func(sampling.Accounts) float64) float64 {
		return median(func(a sampling.Accounts) float64 { return 1e3 * d(a) / float64(max(a.Passes, 1)) })
	}
	digests, err := h.Digests()
	if err != nil {
		return benchmark{}, err
	}
	return benchmark{
		Digests: digests,
		Model:   h.Model().Name, Planner: answer.DescribedPlanner(cfg.Planner), Sampler: answer.Described(cfg.Sampler), Provider: h.Provider(), Notes: h.Notes(),
		CPU: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Rounds: rounds, Rows: len(rows), Length: len(rows[0].Tokens),
		NFE:          int(median(func(a sampling.Accounts) float64 { return float64(a.Passes) })),
		TokensPerNFE: median(func(a sampling.Accounts) float64 { return float64(a.Tokens) / float64(max(a.RowPasses, 1)) }),
		MSPerNFE:     perPass(func(a sampling.Accounts) float64 { return a.Wall.Seconds() }),
		DenoiseMS:    perPass(func(a sampling.Accounts) float64 { return a.Denoise.Seconds() }),
		PlanMS:       perPass(func(a sampling.Accounts) float64 { return a.Plan.Seconds() }),
		PlannerShare: median(func(a sampling.Accounts) float64 { return a.Plan.Seconds() / a.Wall.Seconds() }),
		TokensPerSec: median(func(a sampling.Accounts) float64 { return float64(a.Tokens) / a.Wall.Seconds() }),
	}, nil
}
