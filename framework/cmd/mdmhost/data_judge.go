package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/synthetic"
)

func newDataJudge() *cobra.Command {
	c := group("judge", "Say how good rows are that a model wrote for the tasks of `data make`",
		judging("stars", "Judge paths through star graphs, and the order in which they were written",
			"valid (the path from source to goal), agreement (share of characters that are right, the end included), edges (share of\n"+
				"written edges that the graph has), length (whether it is right) and, of valid rows, order and order_inserted: how when a character was\n"+
				"opened or inserted correlates with how far its node is from the junction, near -1 where the ends come first.",
			func() (synthetic.Judge, error) { return &synthetic.StarJudge{}, nil }),
		judgeBrackets(),
		judging("separator", "Judge words around a separator, and when the separator was written",
			"valid and, of valid rows, separator_opened and separator_inserted: the share of other characters that came before the separator.",
			func() (synthetic.Judge, error) { return &synthetic.SeparatorJudge{}, nil }))
	c.Long = "Say how good rows are that a model wrote for the tasks of `mdmhost data make`. Rows are read from standard input, one JSON object a line,\n" +
		"as `mdmhost bench sampler` gives them to its --evaluator and keeps them below DIR/rows."
	return c
}

// judging is the command for one task; says lists its metrics.
func judging(task, short, says string, judge func() (synthetic.Judge, error)) *cobra.Command {
	c := &cobra.Command{
		Use:   task,
		Short: short,
		Long:  short + ": a line of JSON for each row, with " + says,
		Example: fmt.Sprintf("  mdmhost bench sampler --model runs/%[1]s --data data/%[1]s/test.jsonl --config train-%[1]s --planner confidence \\\n"+
			"    --evaluator 'mdmhost data judge %[1]s' --out runs/%[1]s-quality\n"+
			"  tail -q -n +2 runs/%[1]s-quality/rows/*.jsonl | mdmhost data judge %[1]s --summary", task),
		Args: noArgs,
	}
	summary := c.Flags().Bool("summary", false, "one object for all rows instead, with what only many rows have")
	c.RunE = func(c *cobra.Command, _ []string) error {
		j, err := judge()
		if err != nil {
			return err
		}
		if err := synthetic.Run(j, c.InOrStdin(), c.OutOrStdout(), *summary); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		return nil
	}
	return c
}

func judgeBrackets() *cobra.Command {
	var lengths *[]string
	c := judging("brackets", "Judge strings of brackets and the law of their lengths",
		"valid (balanced) and length. The summary has length_tv, too, the total variation between the lengths and --lengths.",
		func() (synthetic.Judge, error) {
			b, err := brackets(*lengths)
			if err == nil {
				err = b.Validate()
			}
			if err != nil {
				return nil, usagef("mdmhost data judge brackets: %w", err)
			}
			return &synthetic.BracketJudge{Law: b.Lengths}, nil
		})
	lengths = lengthsFlag(c)
	return c
}
