package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
)

func newScore() *cobra.Command {
	c := &cobra.Command{
		Use:   "score [TEXT...]",
		Short: "Say how likely texts are under a model",
		Long: "Say how likely texts are under a model: the bound on -log p of each, in nats and in bits per token, by the evaluation of the trainer\n" +
			"that the model was trained with. A score depends on nothing but model, text, seed and number of draws.\n" +
			"Lines of --prompts are {\"text\"}, {\"prompt\", \"text\"} (the text given the prompt), {\"tokens\"} or {\"infill\", \"answer\"} (the blanks given the rest).\n\n" + plannedHelp,
		Example: `  mdmhost score 'CC(=O)Oc1ccccc1C(=O)O' 'CCO'
  mdmhost score --model runs/books/model --prompts texts.jsonl --format jsonl --draws 64
  mdmhost score 'CCO' 'c1ccccc1' --bound pelbo --planner greedy
  echo '{"prompt": "It was the ", "text": "best of times"}' | mdmhost score --model runs/books/model --prompts -`,
	}
	s := newSettings(c, "model", "prompts", "format", "batch=train.batch", "trainer=trainer.name", "planner", "runtime", "seed")
	c.Flags().Lookup("planner").Usage = "planner of --bound"
	c.Flags().Lookup("prompts").Usage = `file of JSON lines {"text"}, {"prompt", "text"}, {"tokens"} or {"infill", "answer"} (-: standard input)`
	c.Flags().Lookup("seed").Usage = noiseSeed
	var o train.ScoreOptions
	c.Flags().IntVar(&o.Draws, "draws", 16, "draws of noise, over which each score is the mean")
	c.Flags().BoolVar(&o.Exact, "exact", false, "enumerate instead: exact, for at most 12 free tokens")
	bound := boundFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		load := func() (*config.Config, error) { return s.loadChecked(c.Context()) }
		switch {
		case o.Draws < 1:
			return usagef("--draws: expected a whole number from 1, found %d", o.Draws)
		case bound.name != "":
			if err := bound.check(c, "trainer"); err != nil {
				return err
			}
			load = s.loadBound
		case c.Flags().Changed("planner"):
			return usagef("--planner: goes with --bound; add it")
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		texts, err := texts(cfg, args, c.InOrStdin())
		if err != nil {
			return err
		}
		return score(c.Context(), cfg, o, bound.name, texts, c.OutOrStdout())
	}
	return c
}

// texts reads what is to be scored.
func texts(cfg *config.Config, args []string, stdin io.Reader) ([]train.Text, error) {
	place := cfg.Origin("prompts").String()
	switch {
	case cfg.Prompts != "" && len(args) > 0:
		return nil, usagef("%s: expected texts or a file of them, found both; leave one", place)
	case cfg.Prompts == "-":
		return train.ReadTexts("standard input", stdin)
	case cfg.Prompts != "":
		f, err := os.Open(cfg.Prompts)
		if err != nil {
			return nil, usagef("%s: %w", place, err)
		}
		defer f.Close() //nolint:errcheck // only read
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, usagef("%s: %s is a directory; name a file of JSON lines", place, cfg.Prompts)
		}
		return train.ReadTexts(cfg.Prompts, f)
	case len(args) == 0:
		return nil, usagef("mdmhost score: expected texts, or a file of them with --prompts FILE.jsonl")
	}
	var out []train.Text
	for i := range args {
		out = append(out, train.Text{Text: &args[i], Place: fmt.Sprintf("text %d", i+1)})
	}
	return out, nil
}

// score prints a line for each text, and what ran to standard error.
func score(ctx context.Context, cfg *config.Config, o train.ScoreOptions, bound string, all []train.Text, out io.Writer) error {
	line := func(s train.Score) error {
		perToken := ""
		if s.Tokens > 0 { // an insertion model also says how likely it is to write nothing
			perToken = fmt.Sprintf("  %s bits per token", s.BitsPerToken)
		}
		_, err := fmt.Fprintf(out, "%s %s nats%s  (%d)  %s\n", strings.ReplaceAll(s.Kind, "_", " "), s.Nats, perToken, s.Tokens, strconv.Quote(s.Text))
		return err
	}
	if cfg.Format == "jsonl" {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		line = func(s train.Score) error { return e.Encode(s) }
	}
	scores := func() (*train.Ran, error) {
		if bound != "" {
			return train.PlannedScores(ctx, cfg, options(cfg), train.PlannedOptions{Bound: bound, Draws: o.Draws, Exact: o.Exact}, all, line, screen())
		}
		return train.Scores(ctx, cfg, options(cfg), o, all, line, screen())
	}
	ran, err := scores()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stderr, "ran       model %s, %s, runtime %s\n", ran.Model, ran.Bound, ran.Runtime)
	for _, note := range ran.Notes {
		_, _ = fmt.Fprintf(os.Stderr, "note      %s\n", note)
	}
	_, _ = fmt.Fprintf(os.Stderr, "seed      %d\n", ran.Seed)
	return nil
}
