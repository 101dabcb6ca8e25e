package training

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
)

// Tensors of the optimiser's file, flat vectors in the order of the parameters.
const (
	moment1 = "adam.m"
	moment2 = "adam.v"
)

// save writes a checkpoint of the present step, if all of it is finite.
func (r *run) save() error {
	began := r.seconds()
	if err := r.k.get(r.state); err != nil {
		return err
	}
	if err := r.sound(); err != nil {
		return err
	}
	if err := r.writer.Sync(); err != nil {
		return err
	}
	m := &r.Set.Manifest
	tensors := checkpoint.Tensors{Model: Tensors(m.Parameters, r.state.Params), Optimizer: []safetensors.Tensor{
		safetensors.Of(moment1, []int64{m.Size()}, r.state.M), safetensors.Of(moment2, []int64{m.Size()}, r.state.V)}}
	if r.state.EMA != nil {
		tensors.EMA = Tensors(m.Parameters, r.state.EMA)
	}
	err := r.Store.Save(checkpoint.Manifest{Step: r.step, Rows: r.rows, Tokens: r.tokens, Seed: r.Seed, Config: r.Names.Config, Artifacts: r.Names.Artifacts, Digests: r.Names.Digests,
		Best: r.best, Interval: &r.interval, WallSeconds: r.seconds(), CPUSeconds: cpuSeconds()}, tensors)
	r.summary.Share.Checkpoints += r.seconds() - began
	if err == nil {
		r.saved = r.step
	}
	return err
}

// sound refuses a state with numbers that are not finite.
func (r *run) sound() error {
	for _, part := range []struct {
		what   string
		values []float32
	}{{"parameter", r.state.Params}, {"average of the parameter", r.state.EMA}, {"first moment of the parameter", r.state.M}, {"second moment of the parameter", r.state.V}} {
		for i, x := range part.values {
			if !finite(float64(x)) {
				ps := r.Set.Manifest.Parameters
				at := slices.IndexFunc(ps, func(p artifact.Parameter) bool { return int64(i) < p.Offset+p.Size() })
				return r.diverged(part.what+" "+ps[at].Name, float64(x), r.step)
			}
		}
	}
	return nil
}

// restore reads a checkpoint.
func (r *run) restore(c *checkpoint.Checkpoint) error {
	m := &r.Set.Manifest
	if c.Manifest.Seed != r.Seed {
		return fmt.Errorf("run: was begun with seed %d, and now the seed is %d; go on with the first, or name another run directory", c.Manifest.Seed, r.Seed)
	}
	if err := readTensors(c, checkpoint.ModelFile, m.Parameters, r.state.Params); err != nil {
		return err
	}
	if r.state.EMA != nil {
		if err := readTensors(c, checkpoint.EMAFile, m.Parameters, r.state.EMA); err != nil {
			return err
		}
	}
	size := m.Size()
	for _, part := range []struct {
		name string
		into []float32
	}{{moment1, r.state.M}, {moment2, r.state.V}} {
		flat := []artifact.Parameter{{Name: part.name, Shape: []int64{size}}}
		if err := readTensors(c, checkpoint.OptimizerFile, flat, part.into); err != nil {
			return err
		}
	}
	if i := c.Manifest.Interval; i != nil && i.Metrics != nil {
		r.interval = *i
	}
	r.step, r.rows, r.tokens, r.best, r.before = c.Manifest.Step, c.Manifest.Rows, c.Manifest.Tokens, c.Manifest.Best, c.Manifest.WallSeconds
	return nil
}

// Tensors cuts a flat vector into named tensors, which share its memory.
func Tensors(ps []artifact.Parameter, flat []float32) []safetensors.Tensor {
	out := make([]safetensors.Tensor, len(ps))
	for i := range ps {
		out[i] = safetensors.Of(ps[i].Name, ps[i].Shape, flat[ps[i].Offset:ps[i].Offset+ps[i].Size()])
	}
	return out
}

// readTensors puts a file's tensors into a flat vector.
func readTensors(c *checkpoint.Checkpoint, name string, ps []artifact.Parameter, flat []float32) error {
	f, err := c.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for i := range ps {
		t, err := f.Tensor(ps[i].Name)
		if err != nil {
			return err
		}
		values, err := t.Float32s()
		if err != nil {
			return err
		}
		if int64(len(values)) != ps[i].Size() {
			return fmt.Errorf("checkpoint %s: %s has %d numbers in %s, expected %v; the artifacts are others: start a run in another directory", c.Dir, ps[i].Name, len(values), name, ps[i].Shape)
		}
		copy(flat[ps[i].Offset:], values)
	}
	return nil
}

// cpuSeconds is the processor time of this process so far.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}
