package spec

import (
	"context"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Task is what the host tells a trainer.
type Task struct {
	Options []byte // JSON object, checked against the trainer's schema
	V       int    // width of the denoiser's logits
	MaskID  int64  // what stands for a masked token in the denoiser's input
	PadID   int64  // what rows are padded with, -1 where nothing is
	// Suppressed are the ids below V that no data holds: the mask, padding unless it is data, ids beyond the tokenizer. The
	// model gives them probability 0. Sorted, each once.
	Suppressed []int64
	Rows       int // B, or 0: symbolic, named "B"
	Length     int // L, or 0: symbolic, named "L"
	// Denoiser is the signature of the network "denoiser": input_ids int64 [B, L]; attention_mask, timesteps float32 [B] and
	// others where the network has them; logits [B, L, V], and insertion_rate [B, L+1] and perhaps unmask_rate [B, L] of insertion
	// models. The time is 1 where everything is masked, whatever the model's files say: the host turns it. Only that of insertion
	// models runs from 0, the empty row, to 1, as their papers have it. Inputs that are left out of a call get their defaults.
	Denoiser graph.Signature
	Opset    int64 // of the graphs, 17 to 23
}

// RowsDim is the batch dimension.
func (t *Task) RowsDim() graph.Dim { return dim(t.Rows, "B") }

// LengthDim is the dimension of positions.
func (t *Task) LengthDim() graph.Dim { return dim(t.Length, "L") }

func dim(n int, name string) graph.Dim {
	if n > 0 {
		return graph.Known(int64(n))
	}
	return graph.Named(name)
}

// Real is how many tokens have a probability: V without the suppressed ones.
func (t *Task) Real() int { return t.V - len(t.Suppressed) }

// Check refuses a task that no trainer can work on. The host is at fault then.
func (t *Task) Check() error {
	fail := func(problem string) error {
		return &sampling.Error{Code: sampling.Internal, Object: "training task", Problem: problem, Hint: "report it; the host makes the task"}
	}
	sorted := slices.IsSorted(t.Suppressed) && len(slices.Compact(slices.Clone(t.Suppressed))) == len(t.Suppressed)
	outside := func(v int64) bool { return v < 0 || v >= int64(t.V) }
	switch {
	case t.V < 1 || t.MaskID < 0 || t.PadID < -1 || t.Rows < 0 || t.Length < 0:
		return fail("v, mask_id, pad_id, rows or length are out of range")
	case !sorted || slices.ContainsFunc(t.Suppressed, outside):
		return fail("the suppressed ids are not sorted, not different, or not below v")
	case t.Real() < 1:
		return fail("every token is suppressed")
	case !t.Denoiser.Takes("input_ids"):
		return fail("the denoiser takes no input_ids")
	case !slices.ContainsFunc(t.Denoiser.Outputs, func(p graph.Port) bool { return p.Name == "logits" && len(p.Shape) == 3 }):
		return fail("the denoiser gives no logits [B, L, V]")
	case t.Opset < graph.MinOpset || t.Opset > graph.MaxOpset:
		return fail("the opset is outside 17 to 23")
	}
	return nil
}

// Reply is what a trainer makes of a task.
type Reply struct {
	Spec     Spec
	Training []byte         // ONNX; see the package's documentation
	Eval     []byte         // ONNX
	Summary  string         // what is trained, for people: one line
	Schedule diffusion.Spec // for mdm.json: what samplers need to know; the zero value is linear
}

// Trainer turns a task into graphs. Build must depend on nothing but the task; it is never called from two goroutines at once.
type Trainer interface {
	Describe(ctx context.Context) (sampling.Description, error)
	Build(ctx context.Context, task Task) (*Reply, error)
	End(ctx context.Context) error
}
