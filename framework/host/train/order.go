package train

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/progress"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// order is the trainer's order network (LoFlexMDM), or nil.
func (t *trainer) order() *spec.Network {
	networks := t.reply.Spec.Networks
	i := slices.IndexFunc(networks, func(n spec.Network) bool { return n.Signature.Gives("order") })
	if i < 0 {
		return nil
	}
	return &networks[i]
}

// orderNetwork is the order network that a run begins with: that of the model which it begins with, or a new one.
func orderNetwork(cfg *config.Config, d *denoiser, n *spec.Network, seed uint64) (*denoiser, error) {
	if d.config == nil {
		return nil, fmt.Errorf("network %s: is an order network, and only the framework's own models have one; train a model of model_type %s", n.Name, network.ModelType)
	}
	shared := n.ShareWith == spec.Denoiser
	saved, err := d.savedOrder()
	switch {
	case err != nil:
		return nil, err
	case saved == nil:
		c, err := sizedOrder(cfg, *d.config, shared)
		if err != nil {
			return nil, err
		}
		return d.beside(ours(c, network.Initialise(c, seed))), nil
	case saved.Shared != shared:
		return nil, fmt.Errorf("train.from: the order network of model %s %s, and the trainer's %s; train on with the same option", d.model.Name, sharing(saved.Shared), sharing(shared))
	}
	if err := sameOrder(cfg, d, saved); err != nil {
		return nil, err
	}
	return d.beside(ours(saved.Config, saved.Values)), nil
}

func sharing(shared bool) string {
	if shared {
		return "shares the denoiser's layers"
	}
	return "has layers of its own"
}

// savedOrder is the order network of the model that the denoiser is of, or nil.
func (d *denoiser) savedOrder() (*network.Order, error) {
	if d.model == nil || d.config == nil {
		return nil, nil
	}
	return network.ReadOrder(d.model, *d.config)
}

// orderSize is a setting of the section order, what is given (0: nothing) and what it sizes.
type orderSize struct {
	key   string // of config.json, and of the section
	given int
	of    *int
}

func orderSizes(o config.Order, c *network.Config) []orderSize {
	return []orderSize{{"hidden_size", o.HiddenSize, &c.HiddenSize}, {"num_hidden_layers", o.Layers, &c.Layers},
		{"num_attention_heads", o.Heads, &c.Heads}, {"intermediate_size", o.Intermediate, &c.Intermediate}}
}

// orderProblems gives each key of what is wrong with an order network the name of its setting.
func orderProblems(cfg *config.Config, wrong network.Problems) error {
	var out config.Problems
	for _, p := range wrong {
		key := "order." + p.Key
		out = append(out, config.Problem{Origin: cfg.Origin(key), Key: key, Text: p.Text})
	}
	if out == nil {
		return nil
	}
	return out
}

// sizedOrder is the config of a new order network.
func sizedOrder(cfg *config.Config, denoiser network.Config, shared bool) (network.Config, error) {
	c := network.OrderOf(denoiser, shared)
	if shared {
		return c, unsized(cfg, "the order network shares the denoiser's layers")
	}
	if cfg.Order.HiddenSize > 0 {
		c.Intermediate = 0 // what fits the width
	}
	for _, size := range orderSizes(cfg.Order, &c) {
		if size.given > 0 {
			*size.of = size.given
		}
	}
	c = c.Filled()
	err := c.Validate()
	var wrong network.Problems
	if errors.As(err, &wrong) {
		return c, orderProblems(cfg, wrong)
	}
	return c, err
}

// sameOrder holds the settings of the section order against the order network of the model that the run begins with.
func sameOrder(cfg *config.Config, d *denoiser, saved *network.Order) error {
	if saved.Shared {
		return unsized(cfg, "the order network shares the denoiser's layers")
	}
	c := saved.Config
	var wrong network.Problems
	for _, size := range orderSizes(cfg.Order, &c) {
		if size.given > 0 && size.given != *size.of {
			wrong = append(wrong, network.Problem{Key: size.key, Text: fmt.Sprintf("is %d, and the order network of model %s, which the run begins with, has %d; leave it out, or begin without the model", size.given, d.model.Name, *size.of)})
		}
	}
	return orderProblems(cfg, wrong)
}

// unsized refuses settings of the section order where nothing is sized by them.
func unsized(cfg *config.Config, why string) error {
	var wrong network.Problems
	for _, size := range orderSizes(cfg.Order, &network.Config{}) {
		if size.given > 0 {
			wrong = append(wrong, network.Problem{Key: size.key, Text: fmt.Sprintf("is %d, and %s; leave it out", size.given, why)})
		}
	}
	return orderProblems(cfg, wrong)
}

// trainedOrder is the order network of a checkpoint, or nil.
func (s *session) trainedOrder(c *checkpoint.Checkpoint) (*network.Order, error) {
	n := s.trainer.order()
	if n == nil {
		return nil, nil
	}
	values, err := valuesOf(c, n.Name)
	return &network.Order{Config: *s.others[n.Name].config, Shared: n.ShareWith != "", Values: values}, err
}

// weighted is a network of the framework's whose weights are constants of the graph that calls it, for evaluations.
type weighted struct {
	artifact.Network
	name   string
	values network.Values
}

// Parameters implements [artifact.Network]: nothing is trained.
func (w *weighted) Parameters() []artifact.Parameter { return nil }

// Build implements [artifact.Network].
func (w *weighted) Build(b *graph.Builder, _, inputs map[string]graph.Value) map[string]graph.Value {
	own := map[string]graph.Value{}
	for _, p := range w.Network.Parameters() {
		name := w.name + "/" + p.Name
		v, ok := b.Value(name)
		if !ok {
			v = b.Initializer(graph.OfFloats(name, p.Shape, w.values[p.Name]))
		}
		own[p.Name] = v
	}
	return w.Network.Build(b, own, inputs)
}

// openOrder reads the order network that the evaluation asks for, where it asks for one and the model has it.
func (g *gauge) openOrder() error {
	n := g.trainer.order()
	if n == nil || g.model.Config.ModelType != network.ModelType {
		return nil
	}
	c, values, err := network.From(g.model)
	if err != nil {
		return err
	}
	saved, err := network.ReadOrder(g.model, c)
	if err != nil || saved == nil {
		return err
	}
	if shared := n.ShareWith == spec.Denoiser; saved.Shared != shared {
		return fmt.Errorf("model %s: its order network %s, and that of trainer %s %s; evaluate with the model's own options", g.model.Name, sharing(saved.Shared), g.trainer.description.Name, sharing(shared))
	}
	if !saved.Shared {
		values = network.Values{}
	}
	maps.Copy(values, saved.Values)
	g.beside = map[string]artifact.Network{n.Name: &weighted{artifact.Transformer(saved.Config), n.Name, values}}
	return nil
}

// speeds say how fast the order network of a run is in its last steps, where it has one.
func speeds(lines []record.Line) []string {
	for _, l := range slices.Backward(lines) {
		if text := progress.Speeds(l.Metrics); l.Kind == record.Train && text != "" {
			return []string{"speeds of insertion " + text + ", the means of rows' mean, spread, slowest and fastest token"}
		}
	}
	return nil
}
