package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// threads compares how two threads share a forward pass: rows side by side, operators shared by threads that spin for a moment, and operators shared
// by threads that sleep.
func (b bench) threads(ctx context.Context) (err error) {
	const n = 2
	var loops []*loop
	defer func() {
		for _, l := range loops {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, settings := range [][][2]string{
		nil,
		{{"runtime.streams", "off"}},
		{{"runtime.streams", "off"}, {"runtime.session_config.session.intra_op.allow_spinning", "0"}},
	} {
		l, err := b.open(ctx, n, false, settings...)
		if err != nil {
			return err
		}
		loops = append(loops, l)
	}
	for _, s := range sizes(n) {
		of := func(l *loop) func() (float64, error) { return func() (float64, error) { return l.measure(ctx, s) } }
		ms, err := interleave(b.budget, 5, 40, subject{"as it comes", of(loops[0])}, subject{"whole", of(loops[1])}, subject{"asleep", of(loops[2])})
		if err != nil {
			return err
		}
		fmt.Printf("# %s: %d rounds, ms per NFE: as it comes %.2f, streams off %.2f, and threads asleep %.2f\n", s, len(ms[0]), median(ms[0]), median(ms[1]), median(ms[2]))
		err = errors.Join(
			report(os.Stdout, "nfe_vs_streams_off_"+s.String(), paired(ms[0], ms[1]), ""),
			report(os.Stdout, "nfe_vs_threads_asleep_"+s.String(), paired(ms[0], ms[2]), ""))
		if err != nil {
			return err
		}
	}
	return nil
}
