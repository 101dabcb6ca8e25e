package trainer

import (
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Func writes the loss of a training step.
type Func func(g *graph.Builder, in Inputs) Loss

// EvalFunc writes the bound of each row.
type EvalFunc func(g *graph.Builder, in Inputs) Bound

// Definition is a trainer with its options filled in. Loss is all that it needs.
type Definition struct {
	Loss     Func
	Eval     EvalFunc       // nil: CountBound of the denoiser
	Bound    spec.BoundKind // what Eval's number is; "" is spec.Bound
	Schedule diffusion.Spec // what samplers must know; the zero value is linear
	Summary  string         // what is trained, one line
	Networks []spec.Network // besides the denoiser; one named "denoiser" says what becomes of it, such as Frozen, and gets the task's signature
	Params   []spec.Param
	Groups   []spec.Group
}

// Build writes both graphs of a definition for a task. Mistakes are told at the author's line.
func Build(name string, task spec.Task, d Definition) (*spec.Reply, error) {
	s := spec.Spec{Networks: d.networks(&task), Params: d.Params, Groups: d.Groups, Bound: d.Bound}
	if s.Bound == "" {
		s.Bound = spec.Bound
	}
	training, err := write(name, &task, &s, func(g *graph.Builder, in Inputs) ([]graph.Output, error) {
		loss := d.Loss(g, in)
		if err := g.Err(); err != nil {
			return nil, err
		}
		return loss.outputs(g)
	})
	if err != nil {
		return nil, err
	}
	eval := d.Eval
	if eval == nil {
		eval = func(g *graph.Builder, in Inputs) Bound { return CountBound(g, in, nil) }
	}
	evaluation, err := write(name+" eval", &task, &s, func(g *graph.Builder, in Inputs) ([]graph.Output, error) {
		bound := eval(g, in)
		if err := g.Err(); err != nil {
			return nil, err
		}
		return bound.outputs(g)
	})
	if err != nil {
		return nil, err
	}
	return &spec.Reply{Spec: s, Training: training, Eval: evaluation, Summary: d.Summary, Schedule: d.Schedule}, nil
}

// networks are the definition's, the denoiser first.
func (d *Definition) networks(task *spec.Task) []spec.Network {
	out := []spec.Network{{Name: spec.Denoiser}}
	for _, n := range d.Networks {
		if n.Name == spec.Denoiser {
			out[0] = n
		} else {
			out = append(out, n)
		}
	}
	out[0].Signature = task.Denoiser
	return out
}

func write(name string, task *spec.Task, s *spec.Spec, body func(*graph.Builder, Inputs) ([]graph.Output, error)) ([]byte, error) {
	g := graph.NewBuilder(name, task.Opset)
	outputs, err := body(g, newInputs(g, task, s))
	if err != nil {
		return nil, err
	}
	m, err := g.Model(outputs...)
	if err != nil {
		return nil, err
	}
	return m.Encode(), nil
}
