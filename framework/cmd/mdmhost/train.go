package main

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mdmhost/mdmhost/framework/host/train"
)

func newTrain() *cobra.Command {
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a model",
		Long: "Train a model: a new network, or the one of --from. A run lives in a directory of its own; an interrupted run goes on by\n" +
			"the same command, and the finished model lies in RUN/model.",
		Example: `  mdmhost train --run runs/books --train books.txt.gz --set data.length=256
  mdmhost train --run runs/sudoku --config train-sudoku --train sudoku_train.csv.gz --valid sudoku_valid.csv.gz
  mdmhost train --run runs/papl --trainer papl --set trainer.alpha=1 --from runs/books/model --train books.txt.gz
  mdmhost sample --model runs/books/model`,
		Args: noArgs,
	}
	s := newSettings(c, "run=train.run", "train=data.train", "valid=data.valid", "trainer=trainer.name", "from=train.from", "steps=train.steps",
		"minutes=train.minutes", "batch=train.batch", "runtime", "seed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		return train.Run(c.Context(), cfg, options(cfg), train.Streams{Err: os.Stderr, Terminal: term.IsTerminal(int(os.Stderr.Fd()))})
	}
	return c
}
