package training

import (
	"context"
	"errors"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// State is everything of a run that changes from step to step: flat vectors [P].
type State struct {
	Params, M, V []float32
	EMA          []float32 // nil without a moving average
}

// machine holds the programs of a run with their states. States stay inside the runtime.
type machine struct {
	manifest *artifact.Manifest
	params   *onnx.State
	m, v     *onnx.State
	ema      *onnx.State // nil without a moving average
	frozen   *onnx.State // nil where everything is trained
	grads    *onnx.State // nil where a step is one pass

	pass   *onnx.Program // a step, or one of its passes
	update *onnx.Program // nil where a step is one pass
	tail   *onnx.Feed    // of update
	eval   *onnx.Program
}

// newMachine loads the artifacts into the device, which must outlive the machine and closes what it made.
func newMachine(ctx context.Context, d *onnx.Device, s *artifact.Set, accumulate int) (*machine, error) {
	k := &machine{manifest: &s.Manifest}
	size := s.Manifest.Size()
	var err error
	state := func(name string) *onnx.State {
		if err != nil {
			return nil
		}
		var made *onnx.State
		made, err = d.NewState(name, graph.Float32, size)
		return made
	}
	k.params, k.m, k.v = state(artifact.Params), state(artifact.Moment1), state(artifact.Moment2)
	if s.Manifest.Adam.Average {
		k.ema = state(artifact.Average)
	}
	if still := s.Manifest.Still(); still > 0 && err == nil {
		k.frozen, err = d.NewTransient(artifact.Frozen, graph.Float32, still)
	}
	if err != nil {
		return nil, err
	}
	if accumulate > 1 {
		err = k.buildAccumulating(ctx, d, s)
	} else {
		err = k.buildStep(ctx, d, s)
	}
	if err != nil {
		return nil, err
	}
	reads := []onnx.StateBinding{{Input: artifact.Params, State: k.params}}
	if k.ema != nil {
		reads[0].State = k.ema
	}
	k.eval, err = d.NewProgram(ctx, onnx.Model{Name: "eval_model", Data: s.Eval.Encode()},
		onnx.ProgramOptions{States: k.withFrozen(reads), Outputs: results(s.Eval)})
	return k, err
}

func (k *machine) withFrozen(b []onnx.StateBinding) []onnx.StateBinding {
	if k.frozen != nil {
		b = append(b, onnx.StateBinding{Input: artifact.Frozen, State: k.frozen})
	}
	return b
}

// updated are the states that the optimiser replaces.
func (k *machine) updated() []onnx.StateBinding {
	b := []onnx.StateBinding{
		{Input: artifact.Params, Output: artifact.Next + artifact.Params, State: k.params},
		{Input: artifact.Moment1, Output: artifact.Next + artifact.Moment1, State: k.m},
		{Input: artifact.Moment2, Output: artifact.Next + artifact.Moment2, State: k.v},
	}
	if k.ema != nil {
		b = append(b, onnx.StateBinding{Input: artifact.Average, Output: artifact.Next + artifact.Average, State: k.ema})
	}
	return b
}

// results are the outputs that no state takes: losses, metrics, the norm of the gradient.
func results(m *graph.Model) []string {
	var out []string
	for _, v := range m.Graph.Outputs {
		if v.Name != artifact.Grads && (len(v.Name) < len(artifact.Next) || v.Name[:len(artifact.Next)] != artifact.Next) {
			out = append(out, v.Name)
		}
	}
	return out
}

func (k *machine) buildStep(ctx context.Context, d *onnx.Device, s *artifact.Set) error {
	step, err := s.Step()
	if err != nil {
		return err
	}
	k.pass, err = d.NewProgram(ctx, onnx.Model{Name: "step", Data: step.Encode()},
		onnx.ProgramOptions{States: k.withFrozen(k.updated()), Outputs: results(step)})
	return err
}

func (k *machine) buildAccumulating(ctx context.Context, d *onnx.Device, s *artifact.Set) error {
	model, err := s.Accumulate()
	if err != nil {
		return err
	}
	if k.grads, err = d.NewState(artifact.Grads, graph.Float32, s.Manifest.Size()); err != nil {
		return err
	}
	reads := []onnx.StateBinding{{Input: artifact.Params, State: k.params}, {Input: artifact.Accumulated, Output: artifact.Grads, State: k.grads}}
	if k.pass, err = d.NewProgram(ctx, onnx.Model{Name: "training_model", Data: model.Encode()},
		onnx.ProgramOptions{States: k.withFrozen(reads), Outputs: results(model)}); err != nil {
		return err
	}
	if k.update, err = d.NewProgram(ctx, onnx.Model{Name: "optimizer_model", Data: s.Optimizer.Encode()},
		onnx.ProgramOptions{States: append(k.updated(), onnx.StateBinding{Input: artifact.Grads, State: k.grads}), Outputs: results(s.Optimizer)}); err != nil {
		return err
	}
	k.tail, err = k.update.NewFeed()
	return err
}

// set puts a state into the runtime.
func (k *machine) set(s *State) error {
	errs := []error{k.params.WriteFloats(s.Params), k.m.WriteFloats(s.M), k.v.WriteFloats(s.V)}
	if k.ema != nil {
		errs = append(errs, k.ema.WriteFloats(s.EMA))
	}
	return errors.Join(errs...)
}

// get copies the state out of the runtime, into s.
func (k *machine) get(s *State) error {
	errs := []error{k.params.ReadFloats(s.Params), k.m.ReadFloats(s.M), k.v.ReadFloats(s.V)}
	if k.ema != nil {
		errs = append(errs, k.ema.ReadFloats(s.EMA))
	}
	return errors.Join(errs...)
}

// newState makes room for the state of a run.
func newState(m *artifact.Manifest) *State {
	n := m.Size()
	s := &State{Params: make([]float32, n), M: make([]float32, n), V: make([]float32, n)}
	if m.Adam.Average {
		s.EMA = make([]float32, n)
	}
	return s
}

// figures reads the small outputs of a program after a run.
type figures struct {
	loss    []float32
	norm    []float32
	metrics map[string][2][]float32 // sums and counts
}

func newFigures(p *onnx.Program, metrics []string) (f figures, err error) {
	f.metrics = map[string][2][]float32{}
	for _, name := range metrics {
		sum, err := p.Output(spec.MetricPrefix + name + spec.SumSuffix)
		if err != nil {
			return f, err
		}
		count, err := p.Output(spec.MetricPrefix + name + spec.CountSuffix)
		if err != nil {
			return f, err
		}
		f.metrics[name] = [2][]float32{sum, count}
	}
	return f, nil
}

// finite tells whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// tally adds up metrics over passes, in float64.
type tally map[string][2]float64

func (t tally) add(f *figures) {
	for name, m := range f.metrics {
		sum := t[name]
		for i, list := range m {
			for _, x := range list {
				sum[i] += float64(x)
			}
		}
		t[name] = sum
	}
}

// means are the metrics' values; those without a count are left out.
func (t tally) means() map[string]float64 {
	out := map[string]float64{}
	for name, s := range t {
		if s[1] != 0 {
			out[name] = s[0] / s[1]
		}
	}
	return out
}
