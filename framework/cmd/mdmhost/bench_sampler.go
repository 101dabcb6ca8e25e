package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/sweep"
)

// sweeping is what `bench sampler` takes besides settings.
type sweeping struct {
	points    []string
	sweep     string
	rows      int
	out       string
	metric    string
	title     string
	evaluator string
}

func newBenchSampler() *cobra.Command {
	c := &cobra.Command{
		Use:   "sampler",
		Short: "Measure quality against forward passes, for several planners",
		Long: "Measure quality against forward passes, for several planners, on the same rows with the same seed. --out DIR gets results.csv (a line\n" +
			"for each point), quality.png, and the rows of each point in DIR/rows. Points that DIR has already, of the same settings, rows and model,\n" +
			"are kept, so that the command goes on where it was interrupted.\n\n" +
			"A point is 'PLANNER option=value ...'. A value may be a list, k=1,2,4: each makes a point, and they are joined by a line in the picture.\n" +
			"There are also sampler=NAME, steps, length, any setting with a dot, such as sampler.k or sampling.temperature, and the names of presets\n" +
			"in the place of PLANNER.\n\n" +
			"With --data, rows are those of validation data: metrics exact (all blanks right) and tokens (share of blanks that are right; of rows\n" +
			"that grow, of the longer of the two). Without,\n" +
			"rows are sampled from nothing (--length), or from the lines of --prompts in turn: metrics entropy (of the tokens of a row, nats) and\n" +
			"unique (share of rows that are the first of their text). --evaluator adds what a program says of the rows: it reads lines with text,\n" +
			"answer (where there is data), pieces (the tokens), step_map (when each was opened, -1: given) and, of rows that grow, born, and writes\n" +
			"one line of JSON for each, a number or true or false (the metric valid) or an object of such, null for what a row has not.",
		Example: `  mdmhost bench sampler --model sudoku --sweep sudoku --data sudoku_test.csv.gz --out runs/quality
  mdmhost bench sampler --model sudoku --data sudoku_test.csv.gz --set data.column=solution --set data.fixed_column=puzzle --set data.blank=.0 \
    --planner 'confidence k=1,2,4,8' --planner 'eb gamma=0.01,0.1,0.5' --planner 'confidence sampler=infogain sampler.k=1,2' --out runs/mine
  mdmhost bench sampler --model molecule --sweep molecule --evaluator 'python3 scripts/valid_smiles.py' --out runs/molecule`,
		Args: noArgs,
	}
	s := newSettings(c, "model", "data=data.valid", "prompts", "length", "steps", "temperature", "top-p", "top-k", "min-p", "batch", "runtime", "seed")
	c.Flags().Lookup("seed").Usage = noiseSeed
	c.Flags().Lookup("data").Usage = "files of validation data, whose blanks are filled and compared"
	c.Flags().Lookup("prompts").Usage = "file of JSON lines that rows are made of in turn, where there is no data"
	o := sweeping{}
	c.Flags().StringArrayVar(&o.points, "planner", nil, "`POINT` 'NAME option=value ...', lists of values allowed; may be given again")
	c.Flags().StringVar(&o.sweep, "sweep", "", "`FILE` of points and settings, or the name of an embedded one")
	c.Flags().IntVar(&o.rows, "rows", 0, "rows at each point, of data the first (0: what the sweep says, else 1000)")
	c.Flags().StringVar(&o.out, "out", "", "`DIR` of the results")
	c.Flags().StringVar(&o.metric, "metric", "", "what the picture shows (empty: the first there is of exact, valid and entropy)")
	c.Flags().StringVar(&o.title, "title", "", "of the picture")
	c.Flags().StringVar(&o.evaluator, "evaluator", "", "`COMMAND` with arguments that judges texts")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s, c.OutOrStdout()) }
	return c
}

func (o *sweeping) run(ctx context.Context, s *settings, out io.Writer) error {
	switch {
	case o.out == "":
		return usagef("mdmhost bench sampler: expected --out DIR for the results")
	case o.rows < 0:
		return usagef("--rows: expected a whole number from 1, found %d", o.rows)
	case o.sweep == "" && len(o.points) == 0:
		return usagef("mdmhost bench sampler: expected points to compare; give them with --planner, or a file of them with --sweep")
	}
	if err := o.file(s); err != nil {
		return err
	}
	points, err := o.expand(ctx, s)
	if err != nil {
		return err
	}
	to := screen()
	defer context.AfterFunc(ctx, func() {
		_, _ = fmt.Fprintln(to.Err, "mdmhost: stopping; finished points are kept, and the same command goes on with the others. Again to stop at once.")
	})()
	r, err := sweep.Run(ctx, points, sweep.Options{
		Dir: o.out, Title: o.title, Metric: o.metric, Rows: cmp.Or(o.rows, 1000), Evaluator: o.evaluator, Host: options(points[0].Config),
		Said: to.Err, Terminal: to.Terminal,
	})
	if len(r.Lines) > 0 {
		fmt.Fprint(out, sweep.Table(r.Lines, r.Metric)) //nolint:errcheck // the files are written
		fmt.Fprintf(out, "\n%s, %s\n", filepath.Join(o.out, sweep.CSVFile), filepath.Join(o.out, sweep.PictureFile))
	}
	return err
}

// file adds what --sweep says, weaker than the flags.
func (o *sweeping) file(s *settings) error {
	if o.sweep == "" {
		return nil
	}
	f, err := sweep.Read(o.sweep)
	if err != nil {
		return err
	}
	var given []config.Assignment
	for _, text := range f.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return usagef("sweep %s: set: expected key=value, found %q", o.sweep, text)
		}
		given = append(given, config.Assignment{Key: key, Value: value, Flag: "sweep " + o.sweep})
	}
	s.given = append(given, s.given...)
	o.points = append(f.Points, o.points...)
	o.rows, o.title, o.metric = cmp.Or(o.rows, f.Rows), cmp.Or(o.title, f.Title), cmp.Or(o.metric, f.Metric)
	return nil
}

// expand makes the points and checks them all before the first is measured.
func (o *sweeping) expand(ctx context.Context, s *settings) ([]sweep.Point, error) {
	base, err := s.loadChecked(ctx)
	if err != nil {
		return nil, err
	}
	var points []sweep.Point
	for _, text := range o.points {
		more, err := sweep.Expand(base, text)
		if err != nil {
			return nil, err
		}
		for _, p := range more {
			if _, err := checked(ctx, p.Config, nil); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(points, func(q sweep.Point) bool { return q.Name == p.Name }) {
				return nil, usagef("point %q is there twice; leave one", p.Name)
			}
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		return nil, usagef("sweep %s: has no points; add some, or give them with --planner", o.sweep)
	}
	return points, nil
}
