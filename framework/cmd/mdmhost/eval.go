package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mdmhost/mdmhost/framework/host/train"
)

func newEval() *cobra.Command {
	c := &cobra.Command{
		Use:   "eval",
		Short: "Measure a model on validation data",
		Long: "Measure a model on validation data: the bound on -log p in nats a row and in bits per token and character, from the evaluation of\n" +
			"the trainer that the model was trained with (or of --trainer). Bounds of different kinds are never to be compared. Tokenizer and length\n" +
			"are the model's own. --exact adds what enumeration says, where rows have at most 12 free positions; --accuracy samples the answers of\n" +
			"rows with given positions, with planner and sampler as `mdmhost sample` has them.\n\n" + plannedHelp,
		Example: `  mdmhost eval --model runs/books/model --valid books_valid.txt.gz --set data.length=256
  mdmhost eval --model runs/books/model --config runs/books/config.yaml --format json
  mdmhost eval --model sudoku --config train-sudoku --valid sudoku_valid.csv.gz --rows 200 --accuracy --planner eb
  mdmhost eval --model ./tiny --valid rows.csv --set data.column=text --set data.layout=padded --exact --timesteps 8
  mdmhost eval --model sudoku --config train-sudoku --valid sudoku_test.csv.gz --rows 100 --bound p2 --draws 8
  mdmhost eval --model sudoku --config train-sudoku --valid sudoku_test.csv.gz --rows 50 --bound pelbo --planner greedy
  mdmhost eval --model molecule --valid moses_test.csv.gz --set data.column=SMILES --set data.layout=padded --rows 50 \
    --bound p2 --set planner.network=rxnmapper-albert`,
		Args: noArgs,
	}
	s := newSettings(c, "model", "valid=data.valid", "rows=train.eval_rows", "batch=train.batch", "trainer=trainer.name", "planner", "sampler", "steps", "temperature",
		"top-p", "top-k", "min-p", "runtime", "seed")
	c.Flags().Lookup("seed").Usage = noiseSeed
	var o train.EvalOptions
	format := textOr(c, "json")
	c.Flags().IntVar(&o.Draws, "draws", 1, "draws of noise, over which each row's bound is the mean")
	c.Flags().BoolVar(&o.Exact, "exact", false, "add the exact bound and log-likelihood, by enumeration (with --bound: in place of draws)")
	c.Flags().IntVar(&o.Timesteps, "timesteps", 0, "with --exact: add the bound of so many steps of the trainer's schedule (0: not)")
	c.Flags().BoolVar(&o.Accuracy, "accuracy", false, "sample the answers and compare them with the data's")
	bound := boundFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case o.Draws < 1:
			return usagef("--draws: expected a whole number from 1, found %d", o.Draws)
		case o.Timesteps < 0:
			return usagef("--timesteps: expected a whole number from 0, found %d", o.Timesteps)
		case bound.name != "":
			if err := bound.check(c, "trainer", "accuracy", "timesteps", "sampler", "steps", "temperature", "top-p", "top-k", "min-p"); err != nil {
				return err
			}
		case o.Timesteps > 0 && !o.Exact:
			return usagef("--timesteps: goes with --exact; add it")
		}
		if err := format.check(); err != nil {
			return err
		}
		if bound.name != "" {
			cfg, err := s.loadBound()
			if err != nil {
				return err
			}
			report, err := train.Planned(c.Context(), cfg, options(cfg), train.PlannedOptions{Bound: bound.name, Draws: o.Draws, Exact: o.Exact}, screen())
			if err != nil {
				return err
			}
			return showReport(c, format, report)
		}
		cfg, err := s.loadChecked(c.Context())
		if err != nil {
			return err
		}
		report, err := train.Evaluate(c.Context(), cfg, options(cfg), o, screen())
		if err != nil {
			return err
		}
		return showReport(c, format, report)
	}
	return c
}

// showReport prints a report for people or for programs.
func showReport(c *cobra.Command, format *oneOf, report interface{ Write(io.Writer) error }) error {
	if format.value != "text" {
		return printJSON(c, report)
	}
	return report.Write(c.OutOrStdout())
}

// noiseSeed is the help of --seed where none is drawn.
const noiseSeed = "seed of the noise (0 when not given)"

// screen is where commands show their progress.
func screen() train.Streams {
	return train.Streams{Err: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// oneOf is the flag --format.
type oneOf struct {
	value string
	words []string
}

// textOr adds the flag --format text|OTHER.
func textOr(c *cobra.Command, other string) *oneOf {
	f := &oneOf{words: []string{"text", other}}
	c.Flags().StringVar(&f.value, "format", "text", "form of the result: text or "+other)
	return f
}

func (f *oneOf) check() error {
	if slices.Contains(f.words, f.value) {
		return nil
	}
	return usagef("--format: expected %s or %s, found %q", f.words[0], f.words[1], f.value)
}
