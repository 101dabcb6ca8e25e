package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/parity"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// contest is what `bench runtime` takes besides settings.
type contest struct {
	against []string
	rounds  int
	margin  float64
}

func newBenchRuntime() *cobra.Command {
	c := &cobra.Command{
		Use:   "runtime",
		Short: "Compare runtimes on the same rows: time, and where tokens differ",
		Long: "Compare runtimes on the same rows in one run, their rounds interleaved: time of a forward pass, what a runtime costs above the first,\n" +
			"bytes to servers and back, and where tokens part. The first runtime is that of the settings; --against names others: a kind of runtime, a\n" +
			"provider, a preset or a file of settings, with keys of the section runtime behind it, as in onnx:head=graph. Without --against\n" +
			"it tries those that this machine can have, and says why not of the others.\n\n" +
			"Rows are compared step by step. Where one parts from the first runtime's, the choice is held against its margin: how far the random number\n" +
			"that drew the token, or at temperature 0 the probability, was from giving the other one; for positions, how far the statistics were\n" +
			"apart that the planner chose by. Below --margin it is a near-tie, and listed; what the row does behind it follows from it. Any other difference\n" +
			"makes the exit code 1. Rows are the model's examples, or those of --prompts, --prompt and --infill.",
		Example: `  mdmhost bench runtime
  mdmhost bench runtime --model sudoku --against onnx:head=graph --against onnx:head=go
  mdmhost bench runtime --model ./mine --length 64 --against cuda --against 'openinference:endpoints=["grpc://localhost:8001"]' --json`,
		Args: noArgs,
	}
	s, asJSON := newSettings(c, "model", "planner", "sampler", "runtime", "num", "batch", "length", "steps", "temperature", "top-p", "top-k", "min-p", "prompt", "infill", "prompts", "seed"), asJSON(c)
	c.Flags().Lookup("num").Usage = "rows, or rows of each prompt (without prompts 8)"
	o := contest{}
	c.Flags().StringArrayVar(&o.against, "against", nil, "`RUNTIME` to compare with, NAME or NAME:key=value,...; may be given again")
	c.Flags().IntVar(&o.rounds, "rounds", 5, "rounds that are timed, after the one that is compared")
	c.Flags().Float64Var(&o.margin, "margin", 0, "margin below which a choice is a near-tie (0: 1e-5, and 1e-3 on GPUs)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := o.run(c.Context(), s, c.InOrStdin())
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, r)
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), r)
		}
		if n := r.Differ(); err == nil && n > 0 {
			err = fmt.Errorf("bench runtime: %d rows differ by more than a near-tie; the report lists them", n)
		}
		return err
	}
	return c
}

func (o *contest) run(ctx context.Context, s *settings, stdin io.Reader) (*parity.Report, error) {
	switch {
	case o.rounds < 1:
		return nil, usagef("--rounds: expected a whole number from 1, found %d", o.rounds)
	case !(o.margin >= 0):
		return nil, usagef("--margin: expected a number from 0, found %v", o.margin)
	}
	base, err := o.base(ctx, s)
	if err != nil {
		return nil, err
	}
	contestants := []parity.Contestant{{Name: first(base), Config: base}}
	var out []parity.LeftOut
	if len(o.against) == 0 {
		var more []parity.Contestant
		more, out = parity.Others(base)
		contestants = append(contestants, more...)
	}
	for _, text := range o.against {
		c, err := parity.Expand(base, text)
		if err != nil {
			return nil, usage{err}
		}
		contestants = append(contestants, c)
	}
	asked, err := questions(base, stdin)
	if err != nil {
		return nil, err
	}
	to := screen()
	r, err := parity.Run(ctx, contestants, parity.Options{Rounds: o.rounds, Margin: o.margin, Optional: len(o.against) == 0, Host: options(base),
		Rows: func(h *host.Host) ([]sampling.Request, error) {
			rows, _, err := results.Requests(h.Model(), h.Config(), asked)
			return rows, err
		},
		Said: func(line string) { _, _ = fmt.Fprintln(to.Err, line) }})
	if err != nil {
		return nil, err
	}
	r.LeftOut = append(r.LeftOut, out...)
	return r, nil
}

// base fills in what only this benchmark has defaults for: 8 rows, 8 to a forward pass in every runtime, seed 0.
func (o *contest) base(ctx context.Context, s *settings) (*config.Config, error) {
	cfg, err := s.loadChecked(ctx)
	if err != nil {
		return nil, err
	}
	var more []config.Assignment
	fill := func(key, value string) {
		if !cfg.Given(key) {
			more = append(more, config.Assignment{Key: key, Value: value, Flag: "bench runtime"})
		}
	}
	if !cfg.Given("prompt") && !cfg.Given("infill") && !cfg.Given("prompts") {
		fill("num", "8")
	}
	fill("batch", "8")
	fill("seed", "0")
	return cfg.With(more...)
}

// first is the name of the settings' own runtime.
func first(cfg *config.Config) string {
	if cfg.Runtime.Kind == config.KindONNX {
		return cfg.Runtime.Kind + "/" + cfg.Runtime.Provider
	}
	return cfg.Runtime.Kind
}
