// Package loflexmdm is the trainer of LoFlexMDM (Patel et al. 2026, "Insertion Based Sequence Generation with Learnable Order
// Dynamics"): FlexMDM whose positions have speeds of their own, which a second network reads off the clean row. Both are
// trained together: the denoiser to match the rates that the speeds make, the order network to make the denoiser's bound small.
package loflexmdm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/interpolant"
)

// Options of the trainer.
type Options struct {
	interpolant.Options
	Shared  bool    `option:"shared" default:"false" help:"the order network is a head on the denoiser's layers; otherwise a network of its own (settings order.*)"`
	BUm     string  `option:"b_um" default:"frozen" enum:"frozen,trainable" help:"speeds of unmasking; frozen: all 1, which keeps training steady; trainable needs network.unmask_rate"`
	OrderLR float64 `option:"order_lr" default:"0.3" min:"0" max:"10" help:"learning rate of the order network's own parameters, as a factor"`

	Speeds string  `option:"speeds" default:"centred" enum:"centred,softplus,exp" help:"from a score s to a speed b; centred: c exp(o - mean o), o = A tanh(s/A), only the relative speed is learned; softplus: r_min + (r_max - r_min) softplus(s - 4); exp: r_min + exp(s)"`
	C      float64 `option:"c" default:"2" min:"0.01" max:"100" help:"centred: geometric mean of a row's insertion speeds; those of unmasking have 1"`
	Limit  float64 `option:"limit" default:"1.5" min:"0.01" max:"10" help:"centred: A, the largest |o|; two speeds of a row differ by a factor of at most e^2A"`
	RMin   float64 `option:"r_min" default:"1.01" min:"0" max:"100" help:"softplus, exp: smallest speed; below 1, slowness hides cost behind the cut-off of times"`
	RMax   float64 `option:"r_max" default:"100" min:"0.01" max:"1e4" help:"softplus: scale of the speeds above r_min, no cap"`

	Reg     string  `option:"reg" default:"auto" enum:"auto,on,off" help:"regulariser of the speeds with the weights below; auto: on for softplus and exp, off for centred, which needs none"`
	Mixture float64 `option:"mixture" default:"1" min:"0" max:"1000" help:"weight of the straightness of a row's mean event law"`
	Ends    float64 `option:"ends" default:"1" min:"0" max:"1000" help:"weight of the mass of events before t = 0.01 and after 0.99"`
	KL      float64 `option:"kl" default:"0" min:"0" max:"1000" help:"weight of the divergence of event laws from the uniform one; the authors' program has 1"`
	Grid    int     `option:"grid" default:"100" min:"2" max:"1000" help:"points at which the mean event law is compared; their squares are added up"`
	L2      float64 `option:"l2" default:"0.01" min:"0" max:"1000" help:"centred: weight of the mean square of a row's centred scores o"`
}

// Order is the name of the network that gives the speeds.
const Order = "order"

// New is the trainer.
func New() spec.Trainer {
	return sdk.NewTrainer("loflexmdm", define, sdk.Version("0.1.0"),
		sdk.Summary("an insertion model that learns in which order its tokens come; its path bound"))
}

func define(o Options, task spec.Task) (trainer.Definition, error) {
	if err := interpolant.CheckDenoiser(&task); err != nil {
		return trainer.Definition{}, err
	}
	if o.BUm == "trainable" && !interpolant.Rates(&task) {
		return trainer.Definition{}, errors.New("option b_um: network \"denoiser\" gives no unmask_rate, which learned speeds of unmasking need; add --set network.unmask_rate=true, or leave b_um frozen")
	}
	if o.Speeds == "softplus" && o.RMax <= o.RMin {
		return trainer.Definition{}, fmt.Errorf("option r_max: %v is not above r_min %v; expected a larger scale", o.RMax, o.RMin)
	}
	backbone := "separate"
	if o.Shared {
		backbone = "shared"
	}
	return trainer.Definition{
		Loss:     func(g *graph.Builder, in trainer.Inputs) trainer.Loss { return loss(g, in, o) },
		Eval:     func(g *graph.Builder, in trainer.Inputs) trainer.Bound { return eval(g, in, o) },
		Bound:    spec.PathBound,
		Schedule: o.Schedule(),
		Networks: []spec.Network{order(o, &task)},
		Groups:   []spec.Group{{Match: Order + ".*", LR: o.OrderLR, Decay: 1}},
		Summary:  fmt.Sprintf("LoFlexMDM, a %v, speeds %s, b_um %s, %s order network, normalise %s", o.A, o.Speeds, o.BUm, backbone, o.Normalise),
	}, nil
}

// order is the network that reads the clean row. It is not told the time (speeds that move in time do not generate what was
// trained, methods/loflexmdm.md, section 9, item 1); layers that it shares with a denoiser that is told are told 1, the time of the clean row.
func order(o Options, task *spec.Task) spec.Network {
	row := []graph.Dim{task.RowsDim(), task.LengthDim()}
	n := spec.Network{Name: Order, Init: spec.Fresh, Signature: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: row}, {Name: "attention_mask", Type: graph.Int64, Shape: row}},
		Outputs: []graph.Port{{Name: Order, Type: graph.Float32, Shape: append(slices.Clone(row), graph.Known(2))}},
	}}
	if o.Shared {
		n.ShareWith = spec.Denoiser
		if task.Denoiser.Takes("timesteps") {
			n.Signature.Inputs = append(n.Signature.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: row[:1]})
		}
	}
	return n
}
