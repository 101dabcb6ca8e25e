package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
)

// verified is what `model verify` says.
type verified struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`             // "model" or "export"
	Target string `json:"target,omitempty"` // of an export
	Source string `json:"source,omitempty"` // digest of the model that was exported
	OK     bool   `json:"ok"`
	*model.Verification
}

func newModelVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify [NAME|DIR]", Short: "Compare the files of a model, or of an export, with their digests",
		Long: "Compare the files of a model directory with the digests of its mdm.json, or the files of an export with those of its export.json. Files that\n" +
			"changed and files that are missing fail; so do files of an export that its export.json does not list, and models without any digest. Files of\n" +
			"other models without one are named: people edit config.json, mdm.json and others. The network is not run.",
		Example: "  mdmhost model verify\n  mdmhost model verify ./my-model\n  mdmhost model verify ./sudoku-transformers --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s: expected at most one model or export, found %d", c.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return modelNames(), cobra.ShellCompDirectiveDefault
		},
	}
	s, asJSON := newSettings(c, "model"), asJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.given = append(s.given, config.Assignment{Key: "model", Value: args[0], Flag: "model verify"})
		}
		cfg, err := s.load()
		if err != nil {
			return err
		}
		v, err := verifyFiles(cfg)
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, v)
		} else {
			err = printVerification(c, v)
		}
		switch {
		case err == nil && len(v.Checked)+len(v.Missing) == 0:
			err = fmt.Errorf("%s %s: nothing was checked: mdm.json has no digests; compare it with its source by `mdmhost model show`", v.Kind, v.Name)
		case err == nil && !v.OK:
			err = fmt.Errorf("%s %s: is not what was written; copy it, or export it, again", v.Kind, v.Name)
		}
		return err
	}
	return c
}

// verifyFiles tells exports, which have an export.json, from models.
func verifyFiles(cfg *config.Config) (*verified, error) {
	if err := findModel(cfg); err != nil {
		return nil, usagef("%s: %w", cfg.Origin("model"), err)
	}
	name := cmp.Or(cfg.Model, model.Default)
	if !slices.Contains(model.Embedded(), name) {
		record, files, err := exporters.VerifyDir(name)
		if err == nil {
			return &verified{name, "export", record.Target, record.Source.Digest, len(files.Changed)+len(files.Missing)+len(files.Unlisted) == 0, files}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	files, err := model.Verify(name)
	if err != nil {
		return nil, err
	}
	return &verified{name, "model", "", "", len(files.Checked) > 0 && len(files.Changed)+len(files.Missing) == 0, files}, nil
}

func printVerification(c *cobra.Command, v *verified) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	what := v.Kind
	if v.Target != "" {
		what += " for " + v.Target
	}
	fmt.Fprintf(w, "%s\t%s\n", v.Name, what)
	changed := map[string]bool{}
	for _, f := range v.Changed {
		changed[f.Name] = true
		fmt.Fprintf(w, "changed\t%s: sha256 is %s, expected %s\n", f.Name, f.Found, f.Expect)
	}
	for _, name := range v.Missing {
		fmt.Fprintf(w, "missing\t%s\n", name)
	}
	for _, name := range v.Checked {
		if !changed[name] {
			fmt.Fprintf(w, "same\t%s\n", name)
		}
	}
	word := "no digest"
	if v.Kind == "export" {
		word = "additional"
	}
	for _, name := range v.Unlisted {
		fmt.Fprintf(w, "%s\t%s\n", word, name)
	}
	return w.Flush()
}
