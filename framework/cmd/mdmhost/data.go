package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/train"
)

func newData() *cobra.Command {
	return group("data", "Prepare training data, and show what was prepared", newDataMake(), newDataJudge(), newDataPrepare(), newDataShow())
}

func newDataPrepare() *cobra.Command {
	c := &cobra.Command{
		Use:   "prepare",
		Short: "Turn files into rows of token ids that runs map into memory",
		Long: "Turn files into rows of token ids that runs map into memory: for data that is large, or read often. The directory appears once it is\n" +
			"whole; train on it with --set data.prepared=DIR.",
		Example: `  mdmhost data prepare --train books.txt.gz --valid books_valid.txt.gz --out shards/books --set data.length=256
  mdmhost data prepare --config train-sudoku --train sudoku_train.csv.gz --set data.valid_fraction=0.01 --out shards/sudoku
  mdmhost train --run runs/books --set data.prepared=shards/books`,
		Args: noArgs,
	}
	s, asJSON := newSettings(c, "train=data.train", "valid=data.valid"), asJSON(c)
	out := c.Flags().String("out", "", "new `DIR` for the rows")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if *out == "" {
			return usagef("mdmhost data prepare: expected --out DIR, a new directory")
		}
		if _, err := os.Lstat(*out); err == nil {
			return usagef("--out: %s exists; remove it, or name another directory", *out)
		}
		p, err := train.Prepare(c.Context(), cfg, *out, screen())
		if err != nil {
			return err
		}
		return showData(c, p, *asJSON)
	}
	return c
}

func newDataShow() *cobra.Command {
	c := &cobra.Command{
		Use:     "show DIR",
		Short:   "Show what a directory of prepared data holds",
		Example: "  mdmhost data show shards/books\n  mdmhost data show shards/books --verify --json",
		Args:    oneArg("directory"),
	}
	_, asJSON := newSettings(c), asJSON(c)
	verify := c.Flags().Bool("verify", false, "compare every byte with its digest")
	c.RunE = func(c *cobra.Command, args []string) error {
		p, err := train.Show(c.Context(), args[0], *verify)
		if err != nil {
			return err
		}
		return showData(c, p, *asJSON)
	}
	return c
}

func showData(c *cobra.Command, p *train.Prepared, asJSON bool) error {
	if asJSON {
		return printJSON(c, p)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "data\t%s, %d bytes\n", p.Dir, p.Bytes)
	fmt.Fprintf(w, "rows\t%s, %d positions each\n", p.Layout, p.Length)
	fmt.Fprintf(w, "tokens\t%d, tokenizer.json has sha256 %s\n", p.Vocabulary, p.Tokenizer)
	showSet(w, "train", &p.Train)
	if p.Valid != nil {
		showSet(w, "valid", p.Valid)
	}
	return w.Flush()
}

func showSet(w io.Writer, name string, s *train.PreparedSet) {
	var left []string
	for _, l := range []struct {
		n    int64
		what string
	}{{s.Counts.Skipped, "bad lines left out"}, {s.Counts.Dropped, "rows too long left out"}, {s.Counts.Truncated, "rows cut"}} {
		if l.n > 0 {
			left = append(left, fmt.Sprintf(", %d %s", l.n, l.what))
		}
	}
	fmt.Fprintf(w, "%s\t%d rows, %d tokens%s\n", name, s.Rows, s.Counts.Tokens, strings.Join(left, ""))
	for _, f := range s.Sources {
		fmt.Fprintf(w, "\tfrom %s, %d bytes, sha256 %s\n", f.Name, f.Bytes, f.SHA256)
	}
	example := []rune(s.Example)
	if len(example) > 60 {
		example = append(example[:60], '.', '.', '.')
	}
	fmt.Fprintf(w, "\tbegins %q, %d positions to learn\n", string(example), s.Free)
}
