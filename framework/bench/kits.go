package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// kits measures what a call takes to planners that are written with the authors' kits, in Go and in Python: statistics of 256
// positions for 1, 8 and 64 rows, and logits of 8 rows of 64 positions and 50,000 tokens, 102 MB. Logits lie in shared memory,
// where the runtime would have put them; the same as bytes over gRPC says what that is worth.
func (b bench) kits(ctx context.Context) error {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	makers := []kit{{"go", goKit}}
	if python, err := pythonKit(b.kit, filepath.Join(dir, "peers", "kits.py")); err != nil {
		fmt.Printf("peer python kit missing\n# %v\n", err)
	} else {
		makers = append(makers, kit{"python", python})
	}
	for _, rows := range []int{1, 8, 64} {
		name := fmt.Sprintf("statistics_b%d_l256", rows)
		if err := b.inTurns(ctx, makers, []call{{name, "entropy", planned(rows, 256), nil, 50}}); err != nil {
			return err
		}
	}
	return b.logits(ctx, makers)
}

// logits measures planners that read one number of each position and planners that read all of them.
func (b bench) logits(ctx context.Context, makers []kit) error {
	const rows, length, v = 8, 64, 50_000
	memory, err := shm.New()
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	all, err := memory.Floats(rows * length * v)
	if err != nil {
		return err
	}
	for i := range all {
		all[i] = float32(i%9973) * 1e-3
	}
	step := planned(rows, length)
	for i := range step.Rows {
		step.Rows[i].V, step.Rows[i].Logits = v, all[i*length*v:(i+1)*length*v]
	}
	return b.inTurns(ctx, makers, []call{
		{"logits_one_each", "touch", step, memory, 10},
		{"logits_all", "largest", step, memory, 2},
		{"logits_one_each_as_bytes", "touch", step, &shm.Memory{}, 1},
	})
}

// kit starts planners that are written with one of the kits.
type kit struct {
	name string
	spec func(planner string) supervise.Spec
}

// call is one kind of call: the step that a planner is asked about, with the memory that its logits lie in.
type call struct {
	name    string
	planner string
	step    *sampling.Step
	memory  *shm.Memory
	block   int // calls in succession before it is the next one's turn
}

// caller is a planner's process with what its calls took, in milliseconds.
type caller struct {
	kit, call string
	process   *supervise.Process
	planner   sampling.Planner
	ms        []float64
}

// inTurns measures the calls of all kits in turns, block by block, and prints median and 90th percentile of each.
func (b bench) inTurns(ctx context.Context, kits []kit, calls []call) (err error) {
	var callers []*caller
	var subjects []subject
	defer func() {
		for _, c := range callers {
			err = errors.Join(err, c.process.Close())
		}
	}()
	for _, what := range calls {
		for _, k := range kits {
			c, err := begin(ctx, k, what)
			if err != nil {
				return err
			}
			callers = append(callers, c)
			subjects = append(subjects, subject{k.name + " " + what.name, func() (float64, error) { return c.measure(ctx, what) }})
		}
	}
	if _, err := interleave(b.budget, 8, 40, subjects...); err != nil {
		return err
	}
	medians := map[string]float64{}
	for i, c := range callers {
		c.ms = c.ms[calls[i/len(kits)].block:] // the first block warmed up
		medians[c.kit+c.call] = median(c.ms)
		fmt.Printf("# %s, %s: %d calls, median %.3g ms, p90 %.3g ms\n", c.call, c.kit, len(c.ms), median(c.ms), percentile(c.ms, 0.9))
		if err := report(os.Stdout, "kit_"+c.kit+"_"+c.call+"_ms", median(c.ms), ""); err != nil {
			return err
		}
	}
	for _, k := range kits {
		if bytes := medians[k.name+"logits_one_each_as_bytes"]; bytes > 0 {
			if err := report(os.Stdout, "logits_shared_vs_bytes_"+k.name, medians[k.name+"logits_one_each"]/bytes, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts a planner's process and its run.
func begin(ctx context.Context, k kit, what call) (*caller, error) {
	spec := k.spec(what.planner)
	spec.Kind, spec.Memory = sampling.KindPlanner, what.memory
	process, err := supervise.Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	c := &caller{kit: k.name, call: what.name, process: process, planner: process.Planner()}
	run := sampling.Run{ID: "bench", MaskID: mask, V: vocabulary, Capabilities: sampling.Capabilities{Serves: process.Description().Needs}}
	if _, err := c.planner.Start(ctx, run); err != nil {
		return nil, errors.Join(err, process.Close())
	}
	return c, nil
}

// measure makes a block of calls and returns their median.
func (c *caller) measure(ctx context.Context, what call) (float64, error) {
	out := make([]sampling.Decision, len(what.step.Rows))
	for range what.block {
		for i := range out {
			out[i].Reset()
		}
		start := time.Now()
		if err := c.planner.Plan(ctx, what.step, out); err != nil {
			return 0, err
		}
		c.ms = append(c.ms, time.Since(start).Seconds()*1e3)
		for i := range out {
			if len(out[i].Open) != 1 {
				return 0, fmt.Errorf("row %d opens %d positions, expected 1", i, len(out[i].Open))
			}
		}
	}
	return median(c.ms[len(c.ms)-what.block:]), nil
}

// percentile is the value that a share of the values does not exceed.
func percentile(values []float64, share float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[min(int(share*float64(len(v))), len(v)-1)]
}
