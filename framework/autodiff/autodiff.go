// Package autodiff differentiates graphs: reverse mode, one rule an operator (a vector-Jacobian product), written with plain
// ONNX operators into the graph that is differentiated, so that any ONNX Runtime takes gradient steps on any provider.
//
// Gradients equal PyTorch's where PyTorch has a convention: ties of a maximum share evenly, a clipped value passes at the
// bounds, |x| has slope 0 at 0.
package autodiff

import (
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Options choose between equal ways of writing the backward pass.
type Options struct {
	// Kernels calls mdm.GeluGrad, mdm.LayerNormGrad, mdm.SoftmaxGrad and their like, which are functions of stock operators
	// unless the runtime has a kernel of the name. Otherwise plain operators are written, in their fastest known order.
	Kernels bool
	// Recompute computes attention probabilities again in the backward pass. They need not be kept from the forward pass, which
	// is most of the memory of long rows: 245 rather than 395 MiB for 6 layers, 8 rows of 512 and width 64, for a twentieth to a
	// tenth more time.
	Recompute bool
	// Fused writes com.microsoft.FusedMatMul in the place of Transpose and MatMul: for ONNX Runtime alone. It took 0.95 of the
	// processor time of a step on the CPU; the runtime finds most, but not all, of these places by itself.
	Fused bool
}

// Gradients writes the derivatives of a scalar loss by the values wrt (parameters, inputs or anything between) into the
// graph. Result i has the shape and type of wrt[i]; it is zeros where the loss does not depend on wrt[i]. mdm.StopGradient,
// comparisons, roundings and everything of integers pass no gradient. Calls of networks must have been expanded before.
//
// The error names the node and operator that cannot be differentiated; the builder can still be used after it, but for
// mistakes that it holds itself.
func Gradients(b *graph.Builder, loss graph.Value, wrt []graph.Value, o Options) ([]graph.Value, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	if !loss.Given() || !loss.HasRank() || graph.Volume(loss.Shape()).Size != 1 || !isFloat(loss) {
		return nil, fmt.Errorf("graph %s: the loss %s is no float scalar; reduce it to one number (ReduceSum, ReduceMean) first", b.Name(), loss)
	}
	for i, w := range wrt {
		if !w.Given() || !isFloat(w) {
			return nil, fmt.Errorf("graph %s: value %d to differentiate by is %s; expected a float value of the graph", b.Name(), i, w)
		}
	}
	defer b.Scope("gradient")()
	p := newPass(b, wrt, o)
	if p.need[loss.Name()] {
		p.pending[loss.Name()] = []graph.Value{b.ExpandLike(b.Scalar(1, loss), loss)}
	}
	if err := p.walk(); err != nil {
		return nil, errors.Join(err, b.Err())
	}
	out := make([]graph.Value, len(wrt))
	for i, w := range wrt {
		if out[i] = p.total(w); !out[i].Given() {
			out[i] = b.Zeros(w)
		}
	}
	return out, b.Err()
}

// Depends tells whether the loss has a gradient by any of the values, other than zeros.
func Depends(b *graph.Builder, loss graph.Value, wrt []graph.Value) bool {
	return newPass(b, wrt, Options{}).need[loss.Name()]
}

func isFloat(v graph.Value) bool {
	switch v.Type() {
	case graph.Float32, graph.Float16, graph.Float64, graph.BFloat16, graph.Undefined:
		return true
	}
	return false
}
