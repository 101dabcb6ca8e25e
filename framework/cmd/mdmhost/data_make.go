package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/synthetic"
)

func newDataMake() *cobra.Command {
	c := group("make", "Make data whose truth is known: star graphs, brackets, words around a separator", newMakeStars(), newMakeBrackets(), newMakeSeparator())
	c.Long = "Make data whose truth is known, to study models that insert tokens and the orders they learn. The new directory gets train.jsonl,\n" +
		"valid.jsonl and test.jsonl, the same ones for the same seed."
	return c
}

// making is what all tasks are told.
type making struct {
	out     string
	amounts synthetic.Amounts
	seed    uint64
	fill    bool
}

func (m *making) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.out, "out", "", "new `DIR` of the files")
	f.IntVar(&m.amounts.Train, "num", 50000, "rows of training")
	f.IntVar(&m.amounts.Valid, "valid", 100, "rows of validation")
	f.IntVar(&m.amounts.Test, "test", 5000, "rows of the test")
	f.Uint64Var(&m.seed, "seed", 42, "of the noise")
	f.BoolVar(&m.fill, "fill", false, "fill texts with "+synthetic.Fill+" to one length, for models of rows whose length is known")
}

// write makes the files and says how long rows are.
func (m *making) write(c *cobra.Command, task synthetic.Task) error {
	if m.out == "" {
		return usagef("%s: expected --out DIR, a new directory", c.CommandPath())
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"num", m.amounts.Train}, {"valid", m.amounts.Valid}, {"test", m.amounts.Test}} {
		if n.value < 0 {
			return usagef("--%s: expected a number of rows from 0, found %d", n.flag, n.value)
		}
	}
	if err := task.Validate(); err != nil {
		return usagef("%s: %w", c.CommandPath(), err)
	}
	if err := synthetic.Write(c.Context(), m.out, task, m.amounts, m.seed, m.fill); err != nil {
		return err
	}
	prompt, text := task.Limits()
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %d rows of training, %d of validation, %d of the test; prompts up to %d characters, texts up to %d: data.length %d with EOS\n",
		m.out, m.amounts.Train, m.amounts.Valid, m.amounts.Test, prompt, text, prompt+text+1)
	return err
}

func newMakeStars() *cobra.Command {
	sizes := slices.Sorted(maps.Keys(synthetic.StarSizes))
	c := &cobra.Command{
		Use:   "stars",
		Short: "Make star graphs: edges, source and goal are given, the path is to be written",
		Long: "Make star graphs: directed paths, the arms, that share one node, the junction. A prompt holds all edges in random order, source, goal\n" +
			"and " + synthetic.Start + "; the text is the edges of the path from source to goal. An edge is two characters, one for each node. easy, medium and hard\n" +
			"are those of the LoFlexMDM paper; tiny, small and long are for small machines. Flags change single numbers of a size.\n" +
			"Rows have also \"distance\", how many edges each character of the text is from the junction.",
		Example: "  mdmhost data make stars --size tiny --out data/stars\n" +
			"  mdmhost train --config train-stars --run runs/stars --train data/stars/train.jsonl --valid data/stars/valid.jsonl --set data.length=20",
		Args: noArgs,
	}
	m := making{}
	m.flags(c)
	f := c.Flags()
	name := f.String("size", "medium", strings.Join(sizes, ", "))
	degree := f.Int("degree", 0, "`N` of arms")
	arms := f.String("arms", "", "nodes of an arm, `LO..HI`")
	plan := f.Int("plan", 0, "`N` of nodes behind the junction, at least")
	ids := f.Int("ids", 0, "`N` of names for nodes, at most 62")
	symmetric := f.Bool("symmetric", false, "let the junction be the first node of every arm")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, ok := synthetic.StarSizes[*name]
		if !ok {
			return usagef("--size: expected one of %s, found %s%s", strings.Join(sizes, ", "), *name, nearest.DidYouMean(*name, sizes))
		}
		s.Degree, s.IDs = cmp.Or(*degree, s.Degree), cmp.Or(*ids, s.IDs)
		if f.Changed("plan") {
			s.Plan = *plan
		}
		if f.Changed("symmetric") {
			s.Symmetric = *symmetric
		}
		if *arms != "" {
			var err error
			if s.Shortest, s.Longest, err = span(*arms); err != nil {
				return err
			}
		}
		return m.write(c, s)
	}
	return c
}

// span reads LO..HI or one number.
func span(text string) (low, high int, err error) {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		last = first
	}
	low, err = strconv.Atoi(first)
	if err == nil {
		high, err = strconv.Atoi(last)
	}
	if err != nil {
		return 0, 0, usagef("--arms: expected the nodes of an arm as in 3..6, found %s", text)
	}
	return low, high, nil
}

func newMakeBrackets() *cobra.Command {
	c := &cobra.Command{
		Use:   "brackets",
		Short: "Make balanced strings of brackets with a known law of lengths",
		Long:  "Make balanced strings of ( and ). The length follows --lengths, and all balanced strings of one length are equally likely.",
		Example: "  mdmhost data make brackets --out data/brackets\n" +
			"  mdmhost data make brackets --lengths 2:0.5,4:0.5 --out data/short",
		Args: noArgs,
	}
	m := making{}
	m.flags(c)
	lengths := lengthsFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		b, err := brackets(*lengths)
		if err != nil {
			return err
		}
		return m.write(c, b)
	}
	return c
}

// lengthsFlag adds --lengths.
func lengthsFlag(c *cobra.Command) *[]string {
	var usual []string
	for _, l := range synthetic.BracketLengths {
		usual = append(usual, fmt.Sprintf("%d:%g", l.Length, l.Share))
	}
	return c.Flags().StringSlice("lengths", usual, "`LENGTH:SHARE` of every length")
}

// brackets reads a law of lengths.
func brackets(lengths []string) (b synthetic.Brackets, err error) {
	for _, text := range lengths {
		length, share, _ := strings.Cut(text, ":")
		var l synthetic.Share
		if l.Length, err = strconv.Atoi(length); err == nil {
			l.Share, err = strconv.ParseFloat(share, 64)
		}
		if err != nil {
			return b, usagef("--lengths: expected LENGTH:SHARE such as 8:0.4, found %s", text)
		}
		b.Lengths = append(b.Lengths, l)
	}
	return b, nil
}

func newMakeSeparator() *cobra.Command {
	c := &cobra.Command{
		Use:   "separator",
		Short: "Make words of two runs around a separator, the smallest task where order is worth nats",
		Long: "Make words of two runs around a separator |, where a run is one or two characters a or b: 36 words, of lengths 3, 4 and 5 equally often.\n" +
			"The path bound of an insertion model ends at 5.94 nats where all orders are equally likely, and at 4.92 where the separator comes first.",
		Example: "  mdmhost data make separator --out data/separator\n" +
			"  mdmhost train --config train-separator --run runs/separator --train data/separator/train.jsonl --valid data/separator/valid.jsonl",
		Args: noArgs,
	}
	m := making{}
	m.flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return m.write(c, synthetic.Separator{}) }
	return c
}
