package plugintest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

func trainerChecks() []check {
	one := func(id, text, why string, run func(*session)) check {
		return check{Rule: Rule{id, "trainer", text, why, trainers}, after: []string{"start"}, run: run}
	}
	return []check{
		one("spec", "The reply holds against the task: networks, parameters, inputs, both graphs and their outputs, the kind of bound.", "The host would meet the mistake in the middle of a run.", launched),
		one("graph-determinism", "The same task gives the same graphs, byte for byte.", "A resumed run would train something else.", (*session).sameGraphs),
		one("differentiable", "The loss depends on a network that is trained, and every operator on the way can be differentiated.", "Training stops before its first step.", (*session).differentiable),
		one("masking", "What a network that is trained is shown depends on the tokens, on noise and on which positions are free.", "It would see what it is to guess, or learn from prompts and padding.", (*session).shown),
		one("shapes", "The task is built for fixed and for symbolic sizes, and for networks with and without a time.", "Exports fix sizes.", (*session).shapes),
		one("opsets", "The task is built for every opset of the runtime.", "Models bring theirs along.", (*session).opsets),
	}
}

// task is what trainers are asked to build for: an ordinary network that takes times, of symbolic sizes.
var task = taskOf(true, false)

// taskOf is a task for a network that takes times or not, of a masked model or one that inserts.
func taskOf(takesTime, inserts bool) spec.Task {
	row := graph.Dims("batch", "length")
	s := graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: row}, {Name: "attention_mask", Type: graph.Int64, Shape: row}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("batch", "length", vocabulary)}},
	}
	if takesTime {
		s.Inputs = append(s.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("batch")})
	}
	if inserts {
		s.Outputs = append(s.Outputs, graph.Port{Name: "insertion_rate", Type: graph.Float32, Shape: []graph.Dim{row[0], row[1].Plus(graph.Known(1))}},
			graph.Port{Name: "unmask_rate", Type: graph.Float32, Shape: row})
	}
	return spec.Task{Options: []byte("{}"), V: vocabulary, MaskID: maskID, PadID: 0, Suppressed: []int64{0, maskID}, Denoiser: s, Opset: graph.DefaultOpset}
}

// startTrainer finds the task that the trainer takes with its default options.
func (s *session) startTrainer() {
	var first error
	for _, t := range []spec.Task{taskOf(true, false), taskOf(true, true), taskOf(false, false)} {
		t.Options = s.o.Settings
		s.task = t
		if _, err := s.buildTask(t); err == nil {
			return
		} else if first == nil {
			first = err
		}
	}
	check := "start"
	if codeOf(first) == sampling.ContractViolation {
		check = "spec"
	}
	s.blame(check, "Build of an ordinary task with "+s.told(), first)
	s.halt("no task is built")
}

// build builds the usual task with other options.
func (s *session) build(options []byte) (*spec.Reply, error) {
	t := s.task
	t.Options = options
	return s.buildTask(t)
}

// buildTask builds, checks and ends.
func (s *session) buildTask(t spec.Task) (reply *spec.Reply, err error) {
	l, err := s.shared()
	if err != nil {
		return nil, err
	}
	err = bounded(6*s.o.Call, func() (err error) {
		if reply, err = l.trainer.Build(s.ctx, t); err != nil {
			return err
		}
		if err := spec.Check(&t, reply); err != nil {
			return err
		}
		return l.trainer.End(s.ctx)
	})
	return reply, err
}

func (s *session) sameGraphs() {
	first, err := s.build(s.o.Settings)
	for _, how := range []string{"built again in the same process", "built in a fresh process"} {
		var again *spec.Reply
		if err == nil {
			again, err = s.build(s.o.Settings)
		}
		if err != nil {
			s.blame("graph-determinism", "Build again", err)
			return
		}
		if !bytes.Equal(first.Training, again.Training) || !bytes.Equal(first.Eval, again.Eval) {
			s.find(Error, "graph-determinism", "write nodes and names in a fixed order: no clock, no counter that goes on, no map order", "the same task, %s: expected the same %d and %d bytes, found others", how, len(first.Training), len(first.Eval))
			return
		}
		s.drop()
	}
}

// differentiable takes the gradient of the loss by what the networks that are trained give.
func (s *session) differentiable() {
	reply, err := s.build(s.o.Settings)
	if err != nil {
		s.blame("differentiable", "Build", err)
		return
	}
	m, err := graph.Decode(reply.Training)
	if err != nil {
		s.find(Error, "spec", "write ONNX", "the training graph: %v", err)
		return
	}
	networks := map[string]spec.Network{}
	for _, n := range reply.Spec.Networks {
		networks[n.Name] = n
	}
	b := graph.NewBuilder("gradients", s.task.Opset)
	bind, params := map[string]graph.Value{}, map[string]bool{}
	for _, p := range reply.Spec.Params {
		params[p.Name] = true
	}
	var by []graph.Value
	for _, v := range m.Graph.Feeds() {
		if bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...); params[v.Name] {
			by = append(by, bind[v.Name])
		}
	}
	calls := 0
	values := b.Replay(m, bind, func(n *graph.Node, _ []graph.Value) (out []graph.Value) {
		if graph.Key(n) != "mdm.Network" {
			return nil
		}
		network := networks[n.TextAttr("name", "")]
		calls++
		for _, name := range n.StringsAttr("outputs") {
			at := slices.IndexFunc(network.Signature.Outputs, func(p graph.Port) bool { return p.Name == name })
			if at < 0 {
				return nil
			}
			port := network.Signature.Outputs[at]
			v := b.Input(fmt.Sprintf("given.%d.%s", calls, name), port.Type, port.Shape...)
			if out = append(out, v); !network.Frozen && port.Type == graph.Float32 {
				by = append(by, v)
			}
		}
		return out
	})
	loss, ok := values[spec.Loss]
	if err := b.Err(); err != nil || !ok {
		s.find(Error, "differentiable", "write the graph with the kit, or with stock ONNX operators", "the training graph cannot be read again: %v", err)
		return
	}
	if !autodiff.Depends(b, loss, by) {
		s.find(Error, "differentiable", "compute the loss from what a network gives, and stop gradients only where they must not flow", "the loss does not depend on any network or parameter that is trained (of %s)", list(slices.Sorted(maps.Keys(networks))))
		return
	}
	if _, err := autodiff.Gradients(b, loss, by, autodiff.Options{}); err != nil {
		s.find(Error, "differentiable", "put another operator in its place, or mdm.StopGradient before it where no gradient is wanted", "the loss cannot be differentiated: %v", err)
	}
}

func (s *session) shapes() {
	fixed := s.task
	fixed.Rows, fixed.Length = 4, 16
	if _, err := s.buildTask(fixed); err != nil {
		s.blame("shapes", "Build for 4 rows of 16 positions", err)
	}
	if s.task.Denoiser.Takes("timesteps") {
		timeless := taskOf(false, len(s.task.Denoiser.Outputs) > 1)
		timeless.Options = s.o.Settings
		if _, err := s.buildTask(timeless); err != nil {
			s.find(Note, "shapes", "say so in the description, or leave the input out where the network does not take it", "a network without a time is refused: %s", said(err))
			if troubleOf(err) != refused {
				s.blame("shapes", "Build for a network without a time", err)
			}
		}
	}
}

func (s *session) opsets() {
	for opset := int64(graph.MinOpset); opset <= graph.MaxOpset; opset++ {
		t := s.task
		t.Opset = opset
		if _, err := s.buildTask(t); err != nil {
			s.blame("opsets", fmt.Sprintf("Build for opset %d", opset), err)
			return
		}
	}
}
