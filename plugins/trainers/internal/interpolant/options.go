// Package interpolant writes what the trainers of insertion models share: the states in which a clean row's tokens are at time
// t (dropped, masked, clean), the contracted row that the network sees, and the bound's terms (FlexMDM; methods/loflexmdm.md, section 4).
//
// Time t runs from 0, the empty row, to 1, the data. In the clock U(t) = -log(1 - t^a) every event has a constant hazard, its
// speed b, so that no formula beyond [Clock] knows a.
package interpolant

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Options are those of every trainer of insertion models.
type Options struct {
	A         float64 `option:"a" default:"1" min:"0.05" max:"20" help:"clock U(t) = -log(1-t^a): how often each moment is trained, and the samplers' grid; the bound does not depend on it"`
	Eps       float64 `option:"eps" default:"1e-4" min:"1e-6" max:"0.01" help:"times stay in [eps, 1-eps]; what happens later is not trained, so learned speeds gain by slowness where it is large"`
	Stretch   float64 `option:"stretch" default:"2" min:"0.5" max:"4" help:"times are drawn where the clock shows so many times as much, and weighted for it: 1 is uniform in t, as published; 2 has the least variance"`
	Times     string  `option:"times" default:"stratified" enum:"iid,shared_offset,stratified" help:"how the rows of a batch share their times"`
	Normalise string  `option:"normalise" default:"sum" enum:"sum,code" help:"sum: the bound, in nats a free token of the batch; code: as the authors' program, mean over a row's masks + insertion term / length, mean over rows: no bound"`
}

// Schedule is what mdm.json says of the clock.
func (o Options) Schedule() diffusion.Spec { return diffusion.Spec{Kind: spec.Clock, A: o.A} }

// Names of the denoiser's outputs.
const (
	InsertionRate = "insertion_rate" // float [B, L+1]: expected speed of what is missing in each gap
	UnmaskRate    = "unmask_rate"    // float [B, L]: expected speed of each mask
)

// CheckDenoiser refuses a denoiser that is no insertion model.
func CheckDenoiser(task *spec.Task) error {
	i := slices.IndexFunc(task.Denoiser.Outputs, func(p graph.Port) bool { return p.Name == InsertionRate })
	if i < 0 {
		return fmt.Errorf("network %q gives no %s; expected an insertion model, which rates the gaps of a row: add --set network.gaps=eos", spec.Denoiser, InsertionRate)
	}
	if p := task.Denoiser.Outputs[i]; len(p.Shape) != 2 {
		return fmt.Errorf("network %q gives %s with %d dimensions; expected [B, L+1], one number a gap", spec.Denoiser, InsertionRate, len(p.Shape))
	}
	if task.PadID < 0 && !task.Denoiser.Takes("attention_mask") {
		return errors.New("network \"denoiser\" takes no attention_mask, and its tokenizer has no padding; rows of an insertion model differ in length, so export it with an attention_mask")
	}
	return nil
}

// Rates tells whether the denoiser gives the speeds of masks, too.
func Rates(task *spec.Task) bool { return task.Denoiser.Gives(UnmaskRate) }

// How evaluations draw their times: a coarser cut-off hides what slow speeds cost (methods/loflexmdm.md, section 8, item 1), and no other stretch
// gives a bound of less variance.
const (
	EvalEps     = 1e-4
	EvalStretch = 2
)
