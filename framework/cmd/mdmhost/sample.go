package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/answer"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/model"
)

var sampleFlags = []string{
	"model", "planner", "sampler", "runtime", "steps", "length", "num", "batch", "temperature", "top-p", "top-k", "min-p", "seed",
	"prompt", "infill", "prompts", "format", "details", "out", "shard", "overwrite", "trace", "record", "watch",
}

func newSample() *cobra.Command {
	c := &cobra.Command{
		Use:   "sample",
		Short: "Draw samples from a model",
		Long: "Draw samples from a model. Answers go to standard output or --out, progress and a summary to standard error.\n" +
			"An interrupted --out is resumed by the same command; rows that were finished are kept.",
		Example: `  mdmhost sample
  mdmhost sample --infill 'CC(=O)Nc1ccc([MASK])cc1' --num 4 --temperature 0.8
  mdmhost sample --model ./my-model --planner eb --set planner.gamma=0.2 --length 64 --watch
  mdmhost sample --prompts rows.jsonl --out answers.jsonl --details
  mdmhost sample --prompts rows.jsonl --seed 1 --shard 0/4 --out part-0.jsonl
  mdmhost sample --planner ./my-planner --runtime cuda --config mine.yaml`,
		Args: noArgs,
	}
	s := newSettings(c, sampleFlags...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.loadChecked(c.Context())
		if err != nil {
			return err
		}
		if cfg, err = s.files(cfg); err != nil {
			return err
		}
		return sample(c.Context(), cfg, c.InOrStdin())
	}
	return c
}

// sample answers the questions of cfg.
func sample(ctx context.Context, cfg *config.Config, stdin io.Reader) (err error) {
	asked, err := questions(cfg, stdin)
	if err != nil {
		return allProblems(cfg, asked, err)
	}
	h, err := host.Open(ctx, cfg, options(cfg))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	rows, notes, err := results.Requests(h.Model(), h.Config(), asked)
	if err != nil {
		return err
	}
	return answer.Run(ctx, h, rows, notes, answer.Streams{Out: os.Stdout, Err: os.Stderr})
}

// questions reads what the user wants answered; nil when there is no input at all.
func questions(cfg *config.Config, stdin io.Reader) ([]results.Question, error) {
	place := func(key string) string { return cfg.Origin(key).String() }
	switch {
	case cfg.Prompts == "-":
		return results.ReadQuestions("standard input", stdin)
	case cfg.Prompts != "":
		f, err := os.Open(cfg.Prompts)
		if err != nil {
			return nil, usagef("%s: %w", place("prompts"), err)
		}
		defer f.Close() //nolint:errcheck // only read
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, usagef("%s: %s is a directory; name a file of JSON lines", place("prompts"), cfg.Prompts)
		}
		return results.ReadQuestions(cfg.Prompts, f)
	case cfg.Given("infill"):
		return []results.Question{{Kind: results.Infill, Text: cfg.Infill, Place: place("infill")}}, nil
	case cfg.Given("prompt"):
		return []results.Question{{Kind: results.Prompt, Text: cfg.Prompt, Place: place("prompt")}}, nil
	}
	return nil, nil
}

// allProblems adds to the lines that cannot be read those that the model cannot take.
func allProblems(cfg *config.Config, asked []results.Question, unread error) error {
	var first, all *results.InputError
	if !errors.As(unread, &first) || len(asked) == 0 {
		return unread
	}
	whole, err := withGeneration(cfg)
	if err != nil {
		return unread
	}
	m, err := model.Open(cfg.Model)
	if err != nil {
		return unread // told when the lines are mended
	}
	if _, _, err := results.Requests(m, whole, asked); errors.As(err, &all) {
		return &results.InputError{Name: first.Name, Problems: all.Problems}
	}
	return unread
}

// files checks the files of the run, and takes the seed of the run that it goes on with, unless the user gave one.
func (s *settings) files(cfg *config.Config) (*config.Config, error) {
	seed, err := answer.CheckFiles(cfg, cmp.Or(s.file, os.Getenv(config.EnvFile)))
	if err != nil || seed == nil || cfg.Seed != nil {
		return cfg, err
	}
	return cfg.With(config.Assignment{Key: "seed", Value: fmt.Sprint(*seed), Flag: results.Journal(cfg.Out)})
}
