// Package foreign makes an exported ONNX denoiser a network that can be trained: its initialisers become parameters, its
// operators are written into training graphs, and what was learned goes back into the file that it came from.
//
// Exporters leave traces that would train something else than the author's network. They are undone, and reported: identical
// initialisers that were merged are told apart again, tied matrices that constant folding copied are tied again.
package foreign

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
)

// Options say how a file is read. The zero value trains everything that can be trained.
type Options struct {
	Name string // of the model, in messages and scopes; "" is the graph's own name
	Dir  string // folder of external data; "" where the model is one file
	// Train and Freeze are patterns of parameter names, such as "bert.encoder.*" (as in path.Match; * matches dots, too). If Train
	// is given, nothing else is trained; what it matches is trained even where it looks like a constant. Freeze goes before Train.
	Train, Freeze []string
	// Untied leaves matrices with equal values apart, each to be trained on its own.
	Untied bool
	// Positions is max_position_embeddings of config.json, 0 where it is not known. A file exported with a shorter fixed length
	// may have lost the end of its position table, which is then reported.
	Positions int
}

// Network is a model file that is trained. It implements [artifact.Network] and can be used by several goroutines at once.
type Network struct {
	name      string
	model     *graph.Model // the whole file, merged constants told apart
	forward   *graph.Model // what the logits need of it
	ports     ports
	params    []parameter
	constants []*graph.Tensor // large tensors that are not trained, under names of this network
	signature graph.Signature
}

var _ artifact.Network = (*Network)(nil)

// parameter is what is trained as one tensor.
type parameter struct {
	artifact.Parameter
	places []place // the first one has the parameter's shape
}

// place is a tensor of the file that holds a parameter.
type place struct {
	tensor     *graph.Tensor
	transposed bool
}

// Read makes a network of a model that somebody exported. The model is not changed, and its payloads must stay valid. Errors
// name the model and the node, operator or tensor that cannot be trained, and what to do about it.
func Read(m *graph.Model, o Options) (*Network, *Report, error) {
	if o.Name == "" && m.Graph != nil {
		o.Name = m.Graph.Name
	}
	r := &reader{Options: o, report: &Report{}}
	n, err := r.read(m)
	if err != nil {
		return nil, nil, fmt.Errorf("model %s: %w", o.Name, err)
	}
	return n, r.report, nil
}

// reader is a model on its way to a network.
type reader struct {
	Options
	report  *Report
	model   *graph.Model
	ports   ports
	tensors map[string]*graph.Tensor // initialisers by name
	forward []*graph.Node
	types   map[*graph.Node][]graph.Type // of the inputs of forward nodes
	reached map[string]bool              // edges whose gradient the logits have
	root    map[string]string            // edges behind Identity nodes to initialisers
	edges   map[string]bool              // all names of edges
	width   graph.Dim                    // of the logits
}

func (r *reader) read(m *graph.Model) (*Network, error) {
	if err := r.open(m); err != nil {
		return nil, err
	}
	if err := r.ports.find(r.model.Graph); err != nil {
		return nil, err
	}
	r.prune()
	if err := r.checkNodes(); err != nil {
		return nil, err
	}
	if err := r.trace(); err != nil {
		return nil, err
	}
	r.reach()
	all, err := r.candidates()
	if err != nil {
		return nil, err
	}
	all = r.unshare(all)
	r.prune()
	r.label(all)
	if !r.Untied {
		all = r.tie(all)
	}
	if all, err = r.choose(all); err != nil {
		return nil, err
	}
	return r.finish(all)
}

// finish makes the network and writes it once, so that later calls of Build cannot fail for the file's sake.
func (r *reader) finish(all []*candidate) (*Network, error) {
	n := &Network{name: r.Name, model: r.model, forward: r.subgraph(), ports: r.ports}
	trained := map[string]bool{}
	for _, c := range all {
		n.params = append(n.params, parameter{Parameter: artifact.Parameter{Name: c.name, Shape: c.places[0].tensor.Dims, Decay: !vector(c.places[0].tensor), Rate: 1}, places: c.places})
		for _, p := range c.places {
			trained[p.tensor.Name] = true
		}
		r.report.count(c)
	}
	for _, t := range n.forward.Graph.Initializers {
		if !trained[t.Name] && len(t.Raw) > 4096 {
			own := *t
			own.Name = n.name + "/" + t.Name
			n.constants = append(n.constants, &own)
		}
	}
	n.sign(r.width)
	r.reportShape(all)
	b := graph.NewBuilder(n.name, n.Opset())
	in, params := map[string]graph.Value{}, map[string]graph.Value{}
	for _, p := range n.signature.Inputs {
		in[p.Name] = b.Input(p.Name, p.Type, p.Shape...)
	}
	for _, p := range n.params {
		params[p.Name] = b.Input("parameter/"+p.Name, graph.Float32, known(p.Shape)...)
	}
	n.Build(b, params, in)
	return n, b.Err()
}

// vector tells whether a tensor has one dimension at most, but for those of size 1: biases, scales of norms.
func vector(t *graph.Tensor) bool {
	wide := 0
	for _, d := range t.Dims {
		if d > 1 {
			wide++
		}
	}
	return wide <= 1
}

func known(shape []int64) []graph.Dim {
	out := make([]graph.Dim, len(shape))
	for i, d := range shape {
		out[i] = graph.Known(d)
	}
	return out
}
