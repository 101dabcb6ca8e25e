// Package artifact makes training artifacts: plain ONNX graphs for forward, loss, backward and update, which any ONNX Runtime
// runs (DESIGN, section 7). They are composed of a trainer's graphs, of networks and of AdamW:
//
//	training_model.onnx   params, batch, noise -> loss, metrics, grads
//	optimizer_model.onnx  params, grads, moments, scalars -> the same, updated
//	eval_model.onnx       params, batch, noise -> bound, count, metrics
//	manifest.json         what the vectors and inputs mean
//
// All parameters are one flat vector [P], and so are gradients and moments.
package artifact

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Composition is what artifacts are made of.
type Composition struct {
	Trainer  string // its name, for messages
	Task     spec.Task
	Reply    *spec.Reply
	Networks map[string]Network // by name; a network of the trainer that is not here is a copy of the denoiser, if it has its signature
	Rows     int                // B of a training pass
	EvalRows int                // B of an evaluation pass
	Length   int                // L
	Adam     AdamW
	Autodiff autodiff.Options
}

// Set is a complete set of artifacts.
type Set struct {
	Training, Optimizer, Eval *graph.Model
	Manifest                  Manifest
}

// ComposeEval makes the evaluation graph alone, for a model that is measured and not trained: the set's other graphs are nil.
// Networks without parameters of their own, whose weights are constants of the graph, are fine here. Reply.Training, Rows, Adam
// and Autodiff are not looked at.
func ComposeEval(c Composition) (*Set, error) {
	k := &composer{Composition: c, names: map[string]map[string]string{}}
	if err := k.collect(); err != nil {
		return nil, err
	}
	s := &Set{}
	var err error
	if s.Eval, err = k.eval(); err != nil {
		return nil, err
	}
	s.Manifest = k.manifest(s)
	return s, nil
}

// Frozen is the vector of the parameters that are not trained, an input of the training and evaluation graphs where there are any.
const Frozen = "frozen"

// composer carries what the graphs of one set share.
type composer struct {
	Composition
	trained, frozen []Parameter
	size, still     int64
	names           map[string]map[string]string // network -> its parameter -> name in the vectors
}

// Compose makes the artifacts. Errors name the network, parameter or node that does not fit.
func Compose(c Composition) (*Set, error) {
	k := &composer{Composition: c, names: map[string]map[string]string{}}
	if err := k.collect(); err != nil {
		return nil, err
	}
	if k.size == 0 {
		return nil, fmt.Errorf("trainer %s: every network is frozen and it has no parameters of its own; expected something to train", c.Trainer)
	}
	s := &Set{}
	var err error
	if s.Training, err = k.training(); err != nil {
		return nil, err
	}
	if s.Eval, err = k.eval(); err != nil {
		return nil, err
	}
	if s.Optimizer, err = optimizer(k.trained, k.size, c.Adam, c.Task.Opset); err != nil {
		return nil, err
	}
	s.Manifest = k.manifest(s)
	return s, nil
}

// network finds the graph behind a network of the trainer.
func (k *composer) network(n *spec.Network) (Network, error) {
	if own, ok := k.Networks[n.Name]; ok {
		return own, nil
	}
	if d, ok := k.Networks[spec.Denoiser]; ok && sameSignature(n.Signature, k.Task.Denoiser) {
		return d, nil
	}
	return nil, fmt.Errorf("network %s: the host has no network of this signature; expected the denoiser's, or one of %q", n.Name, slices.Sorted(maps.Keys(k.Networks)))
}

func sameSignature(a, b graph.Signature) bool {
	same := func(p, q graph.Port) bool {
		return p.Name == q.Name && p.Type == q.Type && graph.SameShape(p.Shape, q.Shape)
	}
	return slices.EqualFunc(a.Inputs, b.Inputs, same) && slices.EqualFunc(a.Outputs, b.Outputs, same)
}

// collect lists the parameters of all networks and of the trainer.
func (k *composer) collect() error {
	s := &k.Reply.Spec
	for i := range s.Networks {
		n := &s.Networks[i]
		net, err := k.network(n)
		if err != nil {
			return err
		}
		shared, err := k.shared(n)
		if err != nil {
			return err
		}
		k.names[n.Name] = map[string]string{}
		for _, p := range net.Parameters() {
			if shape, ok := shared[p.Name]; ok && slices.Equal(shape, p.Shape) {
				k.names[n.Name][p.Name] = n.ShareWith + "." + p.Name
				continue
			}
			local := p.Name
			p.Name = n.Name + "." + local
			k.names[n.Name][local] = p.Name
			k.add(p, n.Frozen)
		}
	}
	for _, p := range s.Params {
		k.add(Parameter{Name: p.Name, Shape: p.Shape, Decay: true, Rate: 1}, false)
	}
	var err error
	if k.size, err = lay(k.trained); err != nil {
		return err
	}
	k.still, err = lay(k.frozen)
	return err
}

// shared are the shapes of the parameters that a network may share with another, by name.
func (k *composer) shared(n *spec.Network) (map[string][]int64, error) {
	i := slices.IndexFunc(k.Reply.Spec.Networks, func(o spec.Network) bool { return n.ShareWith != "" && o.Name == n.ShareWith })
	if i < 0 {
		return nil, nil
	}
	owner, err := k.network(&k.Reply.Spec.Networks[i])
	if err != nil {
		return nil, err
	}
	out := map[string][]int64{}
	for _, p := range owner.Parameters() {
		out[p.Name] = p.Shape
	}
	return out, nil
}

func (k *composer) add(p Parameter, frozen bool) {
	p.Rate, p.DecayRate = 1, 0
	if p.Decay {
		p.DecayRate = 1
	}
	for _, g := range k.Reply.Spec.Groups {
		if g.Matches(p.Name) {
			p.Rate = g.LR
			if p.Decay {
				p.DecayRate = g.Decay
			}
			break
		}
	}
	if frozen {
		k.frozen = append(k.frozen, p)
	} else {
		k.trained = append(k.trained, p)
	}
}

// sized puts the numbers of rows and positions in the place of their names.
func sized(shape []graph.Dim, rows, length int) []graph.Dim {
	out := slices.Clone(shape)
	for i, d := range out {
		switch d {
		case graph.Named("B"):
			out[i] = graph.Known(int64(rows))
		case graph.Named("L"):
			out[i] = graph.Known(int64(length))
		}
	}
	return out
}

// expand writes a trainer's graph with its networks filled in and returns its outputs, and the parameters by name.
func (k *composer) expand(b *graph.Builder, file []byte, rows int) (outputs, tensors map[string]graph.Value, err error) {
	m, err := graph.Decode(file)
	if err != nil {
		return nil, nil, err
	}
	tensors = map[string]graph.Value{}
	if k.size > 0 {
		flat := b.Input(Params, graph.Float32, graph.Known(k.size))
		tensors = split(b, flat, k.trained)
		tensors[Params] = flat
	}
	if k.still > 0 {
		still := b.Input(Frozen, graph.Float32, graph.Known(k.still))
		maps.Copy(tensors, split(b, still, k.frozen))
	}
	bind := map[string]graph.Value{}
	for _, in := range m.Graph.Feeds() {
		if v, ok := tensors[in.Name]; ok {
			bind[in.Name] = v
			continue
		}
		i := slices.IndexFunc(k.Reply.Spec.Inputs, func(s spec.Input) bool { return s.Name == in.Name })
		if i < 0 {
			return nil, nil, fmt.Errorf("trainer %s: the graph's input %q is neither among its inputs nor its parameters", k.Trainer, in.Name)
		}
		s := &k.Reply.Spec.Inputs[i]
		bind[in.Name] = b.Input(in.Name, s.Kind.Type(), sized(s.Shape, rows, k.Length)...)
	}
	for i := range k.Reply.Spec.Networks {
		n := &k.Reply.Spec.Networks[i]
		b.DeclareNetwork(n.Name, n.Signature)
	}
	calls := map[string]int{}
	outputs = b.Replay(m, bind, func(n *graph.Node, in []graph.Value) []graph.Value {
		if graph.Key(n) != "mdm.Network" {
			return nil
		}
		return k.call(b, n, in, tensors, calls)
	})
	return outputs, tensors, b.Err()
}

// call writes a network in the place of its call.
func (k *composer) call(b *graph.Builder, n *graph.Node, in []graph.Value, tensors map[string]graph.Value, calls map[string]int) []graph.Value {
	name := n.TextAttr("name", "")
	i := slices.IndexFunc(k.Reply.Spec.Networks, func(s spec.Network) bool { return s.Name == name })
	if i < 0 {
		return []graph.Value{b.Fail("network %q is not declared", name)}
	}
	s := &k.Reply.Spec.Networks[i]
	net, err := k.network(s)
	if err != nil {
		return []graph.Value{b.Fail("%v", err)}
	}
	inputs := map[string]graph.Value{}
	for j, key := range n.StringsAttr("inputs") {
		inputs[key] = in[j]
	}
	own := make(map[string]graph.Value, len(k.names[name]))
	for local, global := range k.names[name] {
		own[local] = tensors[global]
	}
	scope := name
	if calls[name]++; calls[name] > 1 {
		scope = fmt.Sprintf("%s.%d", name, calls[name])
	}
	defer b.Scope(scope)()
	got := net.Build(b, own, inputs)
	wanted := n.StringsAttr("outputs")
	if wanted == nil {
		for _, p := range s.Signature.Outputs {
			wanted = append(wanted, p.Name)
		}
	}
	out := make([]graph.Value, len(n.Outputs))
	for j := range out {
		v, ok := got[wanted[j]]
		if !ok {
			return []graph.Value{b.Fail("network %q gives no output %q", name, wanted[j])}
		}
		out[j] = v
	}
	return out
}

// training is forward, loss and backward.
func (k *composer) training() (*graph.Model, error) {
	b := graph.NewBuilder("training", k.Task.Opset)
	outputs, tensors, err := k.expand(b, k.Reply.Training, k.Rows)
	if err != nil {
		return nil, err
	}
	if err := k.learns(b, outputs[spec.Loss], tensors); err != nil {
		return nil, err
	}
	grads, err := autodiff.Gradients(b, outputs[spec.Loss], []graph.Value{tensors[Params]}, k.Autodiff)
	if err != nil {
		return nil, err
	}
	return b.Model(append(ordered(outputs, spec.Loss), graph.Output{Name: Grads, Value: grads[0]})...)
}

// learns refuses a loss that would leave the denoiser as it is, though it is to be trained.
func (k *composer) learns(b *graph.Builder, loss graph.Value, tensors map[string]graph.Value) error {
	var own []graph.Value
	for _, p := range k.trained {
		if strings.HasPrefix(p.Name, spec.Denoiser+".") {
			own = append(own, tensors[p.Name])
		}
	}
	if len(own) == 0 || autodiff.Depends(b, loss, own) {
		return nil
	}
	return fmt.Errorf("trainer %s: its loss has no gradient by any parameter of the denoiser, which would learn nothing; expected a loss of what the network gives, past no stop of gradients", k.Trainer)
}

// eval is the bound of rows.
func (k *composer) eval() (*graph.Model, error) {
	b := graph.NewBuilder("eval", k.Task.Opset)
	outputs, _, err := k.expand(b, k.Reply.Eval, k.EvalRows)
	if err != nil {
		return nil, err
	}
	return b.Model(ordered(outputs, spec.RowBound, spec.RowCount)...)
}

// ordered lists the first outputs by name and then the metrics.
func ordered(outputs map[string]graph.Value, first ...string) []graph.Output {
	var out []graph.Output
	for _, name := range first {
		out = append(out, graph.Output{Name: name, Value: outputs[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if strings.HasPrefix(name, spec.MetricPrefix) {
			out = append(out, graph.Output{Name: name, Value: outputs[name]})
		}
	}
	return out
}
