package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Options are what a run is told besides its points.
type Options struct {
	Dir       string // where the results go; it may hold those of earlier runs
	Title     string // of the picture; "": model and rows
	Metric    string // "": the first there is of exact, valid and entropy
	Rows      int
	Evaluator string // a command with arguments, or ""
	Host      host.Options
	Said      io.Writer // a line for each point, and how far it is
	Terminal  bool      // that Said is one, where a bar can be drawn
}

// The files of a sweep, besides the folder rows with a file for each point.
const (
	CSVFile     = "results.csv"
	PictureFile = "quality.png"
)

// Result is what a run found so far.
type Result struct {
	Lines  []Line
	Metric string
}

// Run measures the points, with the same rows and the same seed. Points that the directory has from earlier runs with the
// same settings, rows and model are kept; table and picture are written anew after every point. When ctx ends, what is
// finished stays, and the error is ctx's.
func Run(ctx context.Context, points []Point, o Options) (_ Result, err error) {
	if len(points) == 0 {
		return Result{}, errors.New("sweep: has no points; give planners to compare")
	}
	base := points[0].Config
	t, err := newTask(ctx, base, o.Rows)
	if err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "rows"), 0o755); err != nil {
		return Result{}, fmt.Errorf("%s: %w; name a directory that can be made", o.Dir, err)
	}
	seed := uint64(0)
	if base.Seed != nil {
		seed = *base.Seed
	}
	r := Result{Metric: o.Metric}
	for i, p := range points {
		m, file, err := t.point(ctx, p, seed, &o, fmt.Sprintf("%d of %d  %s", i+1, len(points), p.Name))
		if err != nil {
			return r, fmt.Errorf("point %q: %w", p.Name, err)
		}
		if err := r.add(m, file, &o); err != nil {
			return r, err
		}
	}
	return r, nil
}

// point returns what the directory has of a point, or measures it. Rows that another evaluator judged, or none, are
// judged anew; they are kept before that, so that no evaluator costs a row.
func (t *task) point(ctx context.Context, p Point, seed uint64, o *Options, what string) (*Measured, string, error) {
	key, err := t.key(p.Config, seed)
	if err != nil {
		return nil, "", err
	}
	path := rowsPath(o.Dir, key)
	m, err := read(path)
	if err != nil {
		return nil, "", err
	}
	if m != nil {
		what += "  (kept)"
	} else {
		if m, err = t.measure(ctx, p, seed, o); err != nil {
			return nil, "", err
		}
		if err := m.write(path); err != nil {
			return nil, "", err
		}
	}
	m.Series, m.Name = p.Series, p.Name // as this run calls them
	if m.Evaluator != o.Evaluator {
		if err := m.judge(ctx, o.Evaluator); err != nil {
			return nil, "", err
		}
		if err := m.write(path); err != nil {
			return nil, "", err
		}
	}
	_, _ = fmt.Fprintln(o.Said, what) // a screen that went away stops nothing
	return m, filepath.Join("rows", filepath.Base(path)), nil
}

// add takes a point into the table and the picture.
func (r *Result) add(m *Measured, file string, o *Options) error {
	var first *Measured
	if len(r.Lines) > 0 {
		first = r.Lines[0].Measured
	}
	r.Lines = append(r.Lines, newLine(m, first, file))
	all := Metrics(r.Lines)
	if r.Metric == "" {
		r.Metric = all[slices.IndexFunc(all, func(name string) bool { return name != "tokens" && name != "unique" })]
	} else if !slices.Contains(all, r.Metric) {
		return fmt.Errorf("metric %q: expected one of %v; name one of these", r.Metric, all)
	}
	if err := writeCSV(filepath.Join(o.Dir, CSVFile), r.Lines); err != nil {
		return err
	}
	title := o.Title
	if title == "" {
		title = fmt.Sprintf("%s, %d rows", m.Model, len(m.Rows))
	}
	if err := drawLines(filepath.Join(o.Dir, PictureFile), title, r.Metric, r.Lines); err != nil {
		return err
	}
	return wholefile.SyncDir(o.Dir)
}
