package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/targets"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

func newExport() *cobra.Command {
	c := &cobra.Command{
		Use: "export --to TARGET MODEL OUT", Short: "Take a model to another stack",
		Long: "Write a model for another stack into the directory OUT, whole or not at all. The target's stack then answers from OUT, where it is installed,\n" +
			"and its logits and tokens are compared with the model's: an export that answers otherwise is not written. OUT/export.json says what\n" +
			"was written, from what, and what was compared.",
		Example: `  mdmhost export --list
  mdmhost export --to transformers sudoku ./sudoku-transformers
  mdmhost export --to onnx --precision int8 ./my-model ./my-model-int8
  mdmhost export --to onnx --head statistics --rows 1 --length 64 text ./text-64
  mdmhost export --to pytorch --verify must --python .venv/bin/python molecule-insertion ./molecule-pytorch
  mdmhost model verify ./sudoku-transformers`,
	}
	s := newSettings(c, "to=export.to", "precision=export.precision", "head=export.head", "rows=export.rows", "length=export.length",
		"verify=export.verify", "python=export.python", "browser=export.browser", "timeout=export.timeout")
	list, asJSON := c.Flags().Bool("list", false, "list the targets"), asJSON(c)
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case *list && len(args) > 0:
			return usagef("%s --list: expected no arguments, found %s", c.CommandPath(), strings.Join(args, " "))
		case !*list && len(args) != 2:
			return usagef("%s: expected a model and a directory to write, found %d arguments", c.CommandPath(), len(args))
		}
		return nil
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return modelNames(), cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if *list {
			return listTargets(c, *asJSON)
		}
		return export(c, cfg, args[0], args[1], *asJSON)
	}
	return c
}

// export writes one export and says what it is.
func export(c *cobra.Command, cfg *config.Config, ref, out string, asJSON bool) error {
	e := cfg.Export
	if e.To == "" {
		return usagef("%s: expected --to TARGET; there are %s", c.CommandPath(), strings.Join(targets.Names(), ", "))
	}
	t, err := targets.Find(e.To)
	if err != nil {
		return usagef("%s: %w", cfg.Origin("export.to"), err)
	}
	if err := findNamed(ref); err != nil {
		return usage{err}
	}
	source, err := exporters.Open(c.Context(), ref)
	if err != nil {
		return err
	}
	source.Library = cfg.Runtime.Library
	result, err := exporters.Export(c.Context(), t, source, exporters.Options{
		Precision: e.Precision, Head: e.Head, Rows: e.Rows, Length: e.Length,
		Verify: e.Verify, Python: e.Python, Browser: e.Browser, Timeout: time.Duration(e.Timeout * float64(time.Second)), Version: thisVersion().Version,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}, out)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c, result)
	}
	return printExport(c, result)
}

// printExport sums up what was written.
func printExport(c *cobra.Command, r *exporters.Result) error {
	var bytes int64
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "export\t%s: %s of %s\n", r.Out, r.Target, r.Source.Name)
	for _, f := range r.Files {
		bytes += f.Bytes
		fmt.Fprintf(w, "file\t%s, %d bytes\n", f.Name, f.Bytes)
	}
	fmt.Fprintf(w, "size\t%d bytes\n", bytes)
	if v := r.Verified; v.Verdict != nil {
		fmt.Fprintf(w, "verified\t%s\n", v.Verdict)
	} else {
		fmt.Fprintf(w, "verified\tno: %s\n", v.Reason)
	}
	return w.Flush()
}

func listTargets(c *cobra.Command, asJSON bool) error {
	var all []exporters.Info
	for _, t := range targets.All() {
		all = append(all, t.Info().Filled())
	}
	if asJSON {
		return printJSON(c, all)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, i := range all {
		fmt.Fprintf(w, "%s\t%s\n\tprecisions %s\n\tverified with %s\n", i.Name, i.Summary, strings.Join(i.Precisions, ", "), strings.Join(i.Needs, ", "))
	}
	return w.Flush()
}
