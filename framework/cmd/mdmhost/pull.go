package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/hub"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

func newPull() *cobra.Command {
	c := &cobra.Command{
		Use: "pull OWNER/NAME[@REVISION] [DIR]", Short: "Fetch a model directory from the Hugging Face Hub, or a server like it",
		Long: "Fetch the files of a model into DIR (without it: NAME below the current directory): config.json, mdm.json, the tokenizer, safetensors (PyTorch's\n" +
			"own weights where there are none), ONNX files and licenses; --include and --exclude choose others. Every file is held against the digest that\n" +
			"the server's listing names, and takes its place when all of them are there. A run that was cut off is gone on with by the same command, and one\n" +
			"that finds everything in its place fetches nothing. Files of DIR that differ are not replaced without --overwrite.\n" +
			"HF_TOKEN is the token for private and gated models; only the server of hub.endpoint sees it.",
		Example: `  mdmhost pull answerdotai/ModernBERT-base
  mdmhost pull answerdotai/ModernBERT-base@main ./modernbert --exclude 'onnx/*'
  mdmhost pull ours/sudoku --set hub.endpoint=https://models.example.org
  mdmhost pull ours/sudoku ./sudoku --include '*.json' --include onnx/model_int8.onnx`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%s: expected OWNER/NAME[@REVISION] and perhaps a directory, found %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	s, asJSON := newSettings(c), asJSON(c)
	o := hub.Options{Token: os.Getenv("HF_TOKEN")}
	c.Flags().StringArrayVar(&o.Include, "include", nil, "`PATTERN` of files to fetch, instead of those of a model directory; may be given again")
	c.Flags().StringArrayVar(&o.Exclude, "exclude", nil, "`PATTERN` of files to leave; may be given again")
	c.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace files of DIR that differ from the model's")
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		repo, err := hub.ParseRepo(args[0])
		if err != nil {
			return usage{err}
		}
		dir := repo.Dir()
		if len(args) == 2 {
			dir = args[1]
		}
		to := screen()
		o.Progress, o.Terminal = to.Err, to.Terminal
		withHub(&o, cfg.Hub)
		r, err := hub.Pull(c.Context(), repo, dir, o)
		if errors.As(err, new(*hub.OptionsError)) {
			return usage{err}
		}
		if err != nil {
			if c.Context().Err() != nil {
				fmt.Fprintf(c.ErrOrStderr(), "%s: interrupted; what was fetched stays there, and the same command goes on with it\n", dir)
			}
			return err
		}
		if *asJSON {
			return printJSON(c, r)
		}
		return printPulled(c, r)
	}
	return c
}

// withHub takes over the settings of hub.*.
func withHub(o *hub.Options, h config.Hub) {
	o.Endpoint, o.Connections, o.Retries, o.Stall = h.Endpoint, h.Connections, h.Retries, time.Duration(h.Timeout*float64(time.Second))
}

// printPulled says what was fetched, what it is, and what to do with it.
func printPulled(c *cobra.Command, r *hub.Result) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	var size int64
	fetched := 0
	for _, f := range r.Files {
		size += f.Size
		if f.Fetched {
			fetched++
		}
	}
	fmt.Fprintf(w, "pulled\t%s at commit %s\n", r.Repo, r.Commit)
	fmt.Fprintf(w, "files\t%d, %d bytes; %d fetched in %.1f s, %d were there\n", len(r.Files), size, fetched, r.Seconds, len(r.Files)-fetched)
	what, next := identify(r.Dir)
	fmt.Fprintf(w, "model\t%s: %s\n", r.Dir, what)
	fmt.Fprintf(w, "next\t%s\n", next)
	return w.Flush()
}

// identify says what a directory holds, and the next command for it.
func identify(dir string) (what, next string) {
	ref := dir
	if !filepath.IsAbs(ref) && ref == filepath.Base(ref) {
		ref = "./" + ref // which the name of an embedded model is not
	}
	m, err := model.Open(ref, model.AnyFamily())
	if err == nil {
		d, err := m.Describe()
		if err != nil {
			return err.Error(), "mdmhost model show " + ref
		}
		next = "mdmhost sample --model " + ref
		if m.Manifest.Planner != nil {
			next = "mdmhost model show " + ref
		}
		return fmt.Sprintf("type %s, family %s, %d parameters, %d tokens", d.Type, d.Family, d.Parameters, d.Vocabulary.Size), next
	}
	name := filepath.Join(dir, "config.json")
	text, readErr := os.ReadFile(name)
	if readErr != nil {
		return err.Error(), "mdmhost pull with another --include"
	}
	if r, unknown := family.Parse(name, text); unknown == nil {
		return fmt.Sprintf("type %s, as it was saved by transformers", r.ModelType), fmt.Sprintf("mdmhost import %s %s-imported", ref, strings.TrimRight(ref, "/"))
	}
	return err.Error(), "mdmhost model show " + ref
}
