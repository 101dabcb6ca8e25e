// Package parity samples the same rows in several runtimes, in one run, and says what each costs and where their tokens part.
//
// Runs of one seed are the same whatever the runtime, but for near-ties: choices so close that the rounding of one runtime falls on the other
// side of them. Rows are therefore compared step by step. Where two part, what follows is not held against anybody; the step itself is: how
// close was the choice? A near-tie is listed, and anything else is a difference.
package parity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/answer"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Options are what a comparison is told besides its contestants.
type Options struct {
	Rounds   int     // that are timed, after one that is compared
	Margin   float64 // below which a choice is a near-tie; 0: 1e-5, and 1e-3 where a contestant computes on a GPU
	Optional bool    // contestants but the first that cannot run are left out, with the reason
	Host     host.Options
	// Rows makes the rows, of the first contestant's model and settings.
	Rows func(h *host.Host) ([]sampling.Request, error)
	// Said takes a line for each contestant that is tried.
	Said func(line string)
}

// The margins below which a choice is a near-tie.
const (
	MarginCPU = 1e-5
	MarginGPU = 1e-3
)

// Run compares the contestants with the first of them. The error is of a contestant that could not run, or of ctx; differences are in
// the report.
func Run(ctx context.Context, contestants []Contestant, o Options) (_ *Report, err error) {
	report := &Report{CPU: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Rounds: o.Rounds}
	var runners []*runner
	defer func() {
		for _, r := range runners {
			err = errors.Join(err, r.host.Close())
		}
	}()
	var rows []sampling.Request
	for i, c := range contestants {
		o.Said("opening " + c.Name)
		r, err := open(ctx, c, o.Host)
		if err == nil && i == 0 {
			if rows, err = o.Rows(r.host); err != nil {
				runners = append(runners, r)
				return nil, err
			}
		}
		if err == nil {
			if err = r.compared(ctx, rows); err != nil {
				err = errors.Join(err, r.host.Close())
			}
		}
		switch {
		case err != nil && (i == 0 || !o.Optional || ctx.Err() != nil):
			return nil, fmt.Errorf("runtime %s: %w", c.Name, err)
		case err != nil:
			report.LeftOut = append(report.LeftOut, LeftOut{c.Name, firstLine(err)})
		default:
			runners = append(runners, r)
		}
	}
	h := runners[0].host
	report.Model, report.Seed = h.Model().Name, h.Seed()
	report.Planner, report.Sampler = answer.DescribedPlanner(h.Config().Planner), answer.Described(h.Config().Sampler)
	report.Rows, report.Batch = len(rows), h.Batch(len(rows))
	partings, err := compare(ctx, runners, rows)
	if err != nil {
		return nil, err
	}
	for round := range o.Rounds {
		order := slices.Clone(runners)
		if round%2 == 1 {
			slices.Reverse(order) // nobody always runs behind the same one
		}
		for _, r := range order {
			if err := r.timed(ctx, rows); err != nil {
				return nil, fmt.Errorf("runtime %s: %w", r.Name, err)
			}
		}
	}
	for i, r := range runners {
		report.add(r, runners[0], partings[i], o.Margin)
	}
	return report, nil
}

// runner is a contestant that runs.
type runner struct {
	Contestant
	host    *host.Host
	witness *witness
	trail   *trail
	times   []sampling.Accounts // of the timed rounds
	changed map[int64]bool      // rows that came out otherwise in a later round
	moved   int64               // bytes to servers and back, in the timed rounds
}

func open(ctx context.Context, c Contestant, o host.Options) (*runner, error) {
	r := &runner{Contestant: c, witness: &witness{}, changed: map[int64]bool{}}
	before := o.Watch
	o.Watch = func(d backend.Denoiser) backend.Denoiser {
		if before != nil {
			d = before(d)
		}
		r.witness.Denoiser = d
		return r.witness
	}
	var err error
	r.host, err = host.Open(ctx, c.Config, o)
	return r, err
}

// sample runs all rows once and returns what it cost; each gets the answers.
func (r *runner) sample(ctx context.Context, rows []sampling.Request, each func(sampling.Result), observers ...sampling.Observer) (sampling.Accounts, error) {
	next := 0
	return r.host.Sample(ctx, len(rows), func() (sampling.Request, bool) {
		if next == len(rows) {
			return sampling.Request{}, false
		}
		next++
		return rows[next-1], true
	}, func(result sampling.Result) error {
		if result.Err != nil {
			return fmt.Errorf("row %d: %w", result.Index, result.Err)
		}
		each(result)
		return nil
	}, observers...)
}

// compared runs the rows with an eye on every step.
func (r *runner) compared(ctx context.Context, rows []sampling.Request) error {
	r.trail = &trail{rows: map[int64]*trace.Row{}}
	_, err := r.sample(ctx, rows, func(sampling.Result) {}, r.trail)
	return err
}

// timed runs the rows as fast as it can.
func (r *runner) timed(ctx context.Context, rows []sampling.Request) error {
	before := bytesOf(r.witness.Denoiser)
	a, err := r.sample(ctx, rows, func(result sampling.Result) {
		if !slices.Equal(result.Tokens, r.trail.rows[result.Index].End.Tokens) {
			r.changed[result.Index] = true
		}
	})
	r.times, r.moved = append(r.times, a), r.moved+bytesOf(r.witness.Denoiser)-before
	return err
}

// compare finds where the rows of each runner part from those of the first, and how close the choices were. Runs that part are run
// again to see what the runtimes answered at those steps.
func compare(ctx context.Context, runners []*runner, rows []sampling.Request) (_ [][]*Parting, err error) {
	first, partings := runners[0], make([][]*Parting, len(runners))
	var all []moment
	for i, r := range runners[1:] {
		var own []moment
		for _, row := range rows {
			if p := parting(first.trail.rows[row.Index], r.trail.rows[row.Index]); p != nil {
				partings[i+1] = append(partings[i+1], p)
				own = append(own, moment{p.Row, int32(p.Step)})
			}
		}
		r.witness.want(own)
		all = append(all, own...)
	}
	first.witness.want(all)
	ref := &reference{head: first.witness.head, open: func(ctx context.Context) (backend.Denoiser, error) {
		return backend.Open(ctx, first.host.Config().Runtime, first.host.Model(), backend.Options{})
	}}
	defer func() { err = errors.Join(err, ref.Close()) }()
	for i, r := range runners {
		if len(r.witness.wanted) == 0 {
			continue
		}
		if _, err := r.sample(ctx, rows, func(sampling.Result) {}); err != nil {
			return nil, fmt.Errorf("runtime %s: %w", r.Name, err)
		}
		for _, p := range partings[i] {
			if err := first.judge(ctx, ref, r, p); err != nil {
				return nil, err
			}
		}
		r.witness.wanted = nil
	}
	return partings, nil
}

// judge completes a parting of another runner's row, by what both saw.
func (r *runner) judge(ctx context.Context, ref *reference, other *runner, p *Parting) error {
	for side, token := range p.Tokens {
		p.Texts[side] = r.spell(token)
	}
	if p.Why != "" {
		return nil
	}
	at := moment{p.Row, int32(p.Step)}
	return p.explain(ctx, ref, r.trail.rows[p.Row], other.trail.rows[p.Row], r.witness.seen[at], other.witness.seen[at])
}

// spell is how a token reads, or what stands for none; see [did.token].
func (r *runner) spell(token int32) string {
	switch token {
	case -1:
		return "nothing"
	case -2:
		return "a mask"
	case -3:
		return "dropped"
	}
	return r.host.Model().Tokenizer.Token(token)
}
