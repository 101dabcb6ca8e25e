package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/merge"
)

func newMerge() *cobra.Command {
	c := &cobra.Command{
		Use:   "merge --out FILE PART...",
		Short: "Put the answers of a run's shards together",
		Long: "Put the answers that `mdmhost sample --shard I/N --out PART` wrote together into one file, in the order of the run: byte for byte what one\n" +
			"process would have written, but for the times (ms). FILE.shard, which stands beside each part, is read with it. Parts of different runs,\n" +
			"missing shards and rows, rows that stand twice and lines that were cut are told all at once, and nothing is written then.",
		Example: "  mdmhost sample --num 1000 --seed 1 --shard 0/2 --out part-0.jsonl\n  mdmhost sample --num 1000 --seed 1 --shard 1/2 --out part-1.jsonl\n" +
			"  mdmhost merge --out answers.jsonl part-?.jsonl",
	}
	out := c.Flags().String("out", "", "`FILE` for the answers of the whole run")
	overwrite := c.Flags().Bool("overwrite", false, "replace the file")
	c.RunE = func(c *cobra.Command, parts []string) error {
		if *out == "" {
			return usagef("mdmhost merge: expected --out FILE for the answers of the whole run")
		}
		if len(parts) == 0 {
			return usagef("mdmhost merge: expected the files of the shards, found none")
		}
		r, err := merge.Files(*out, parts, *overwrite)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.ErrOrStderr(), "%s: %d rows of %d shards, seed %d\n", *out, r.Rows, r.Shards, r.Seed)
		return err
	}
	return c
}
