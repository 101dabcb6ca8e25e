package train

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// trainer is what a trainer plugin said.
type trainer struct {
	description sampling.Description
	digest      string // of its code; "": not known
	options     map[string]any
	task        spec.Task
	reply       *spec.Reply
}

// ask starts the trainer, gives it the task and ends it: from then on its graphs are all that is needed of it.
func ask(ctx context.Context, cfg *config.Config, o host.Options, d *denoiser) (*trainer, error) {
	plugin, end, err := host.OpenTrainer(ctx, o, cfg.Trainer.Name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = end() }()
	t := &trainer{}
	if t.digest, err = o.PluginDigest(sampling.KindTrainer, cfg.Trainer.Name); err != nil {
		return nil, err
	}
	if t.description, err = plugin.Describe(ctx); err != nil {
		return nil, err
	}
	if t.options, err = cfg.TrainerOptions(t.description.OptionsSchema); err != nil {
		return nil, err
	}
	t.task = spec.Task{V: d.v, MaskID: int64(d.mask), PadID: int64(d.pad), Suppressed: d.suppress, Denoiser: d.Signature(), Opset: d.opset}
	t.task.Rows, t.task.Length = sizes(t.task.Denoiser)
	if t.task.Options, err = json.Marshal(t.options); err != nil {
		return nil, err
	}
	if t.reply, err = plugin.Build(ctx, t.task); err != nil {
		return nil, err
	}
	if err := t.pairs(cfg, d); err != nil {
		return nil, err
	}
	return t, plugin.End(ctx)
}

// sizes are the rows and positions that a network's export fixed, 0 where any will do.
func sizes(s graph.Signature) (rows, length int) {
	i := slices.IndexFunc(s.Inputs, func(p graph.Port) bool { return p.Name == "input_ids" })
	for at, to := range []*int{&rows, &length} {
		if d := s.Inputs[i].Shape[at]; d.IsKnown() {
			*to = int(d.Size)
		}
	}
	return rows, length
}

// String is the trainer with its options, such as "md4 schedule=cosine".
func (t *trainer) String() string {
	parts := []string{t.description.Name}
	for _, name := range sortedKeys(t.options) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, t.options[name]))
	}
	return strings.Join(parts, " ")
}

// compose makes the artifacts.
func compose(cfg *config.Config, d *denoiser, others map[string]*denoiser, t *trainer, length int) (*artifact.Set, error) {
	o := cfg.Optimizer
	networks := map[string]artifact.Network{spec.Denoiser: d}
	for name, n := range others {
		networks[name] = n
	}
	return artifact.Compose(artifact.Composition{
		Trainer: t.description.Name, Task: t.task, Reply: t.reply, Networks: networks,
		Rows: cmp.Or(t.task.Rows, cfg.Train.Batch), EvalRows: cmp.Or(t.task.Rows, cfg.Train.Batch), Length: length,
		Adam:     artifact.AdamW{Beta1: o.Beta1, Beta2: o.Beta2, Epsilon: o.Epsilon, WeightDecay: o.WeightDecay, Average: o.EMA > 0},
		Autodiff: autodiff.Options{Kernels: cfg.Train.Kernels, Recompute: cfg.Train.Recompute},
	})
}

// begin is where a new run begins: the denoiser's values under every network of the trainer that starts as it does, fresh
// ones where it asks for them, the values of networks that are no copies of the denoiser, and the trainer's own parameters.
func begin(ps []artifact.Parameter, s *spec.Spec, d *denoiser, others map[string]*denoiser, seed uint64) ([]float32, error) {
	fresh := map[string]network.Values{}
	for i := range s.Networks {
		n := &s.Networks[i]
		if own := others[n.Name]; own != nil {
			fresh[n.Name] = own.values
			continue
		}
		if n.Init != spec.Fresh {
			continue
		}
		if d.config == nil {
			return nil, fmt.Errorf("network %s: is to start fresh, and nobody knows how the parameters of %s start; expected one of the framework's networks", n.Name, d.model.Name)
		}
		fresh[n.Name] = network.Initialise(*d.config, seedOf(seed, i))
	}
	return flat(ps, func(p *artifact.Parameter) ([]float32, error) {
		for i := range s.Params {
			if s.Params[i].Name == p.Name {
				if p.Name == spec.RawExponents && d.exponents != nil {
					return d.exponents, nil
				}
				return draw(&s.Params[i], seed), nil
			}
		}
		for i := range s.Networks {
			if name, ok := strings.CutPrefix(p.Name, s.Networks[i].Name+"."); ok {
				if values, ok := fresh[s.Networks[i].Name]; ok {
					return values[name], nil
				}
				return d.values[name], nil
			}
		}
		return nil, fmt.Errorf("parameter %s: belongs to no network of the trainer", p.Name)
	})
}

// draw is the start of a parameter of the trainer's own.
func draw(p *spec.Param, seed uint64) []float32 {
	n := int64(1)
	for _, d := range p.Shape {
		n *= d
	}
	out := make([]float32, n)
	if p.Init.Kind == "normal" {
		out = network.Param{Name: p.Name, Shape: p.Shape, Init: network.Init{Kind: network.Normal, Std: p.Init.Scale}}.Draw(seed)
	}
	if p.Init.Kind == "uniform" {
		diffusion.NewNoise(seed, p.Name).Uniform(out, 0, 0, len(out))
	}
	for i := range out {
		switch p.Init.Kind {
		case "uniform":
			out[i] = float32(p.Init.Value + p.Init.Scale*(2*float64(out[i])-1))
		default:
			out[i] += float32(p.Init.Value)
		}
	}
	return out
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
