package exporters

import (
	"math"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Reference is what the source answers in ONNX Runtime on the CPU: rows with masks here and there, of several lengths, padded where the
// model takes an attention mask, and rows whose masks are opened one by one. [Reference.WriteFile] puts it into a safetensors file for
// verifiers in other languages; the names of its tensors stand beside the fields. B x L x V stays below 2^22, so that
// the file of a model with 126,000 tokens is small, too.
type Reference struct {
	B, L          int
	V             int
	InputIDs      []int64   // input_ids [B, L]
	AttentionMask []int64   // attention_mask [B, L]; all ones for models that take none
	Timesteps     []float32 // timesteps [B], for models that take time, else nil
	Logits        []float32 // logits [B, L, V]; of padding, undefined
	InsertionRate []float32 // insertion_rate [B, L+1], of insertion models, else nil; behind the row, undefined
	UnmaskRate    []float32 // unmask_rate [B, L], where the model has them, else nil; of padding, undefined

	// Begin are rows with masks, of the same attention_mask and timesteps, and Written the same rows with every mask opened at temperature 0. In each
	// pass, every row opens one mask: that whose most probable token is most probable gets that token; ties go to the lower position, and
	// to the lower token. What is in Never is not written. In insertion models no masks are inserted.
	//
	// A verifier goes with the source: where its own choice differs, it notes that, and goes on with the source's position and token, which
	// Order and Written tell. Near ties then do not make the rest of the row differ.
	Begin   []int64   // begin [B, L]
	Written []int64   // written [B, L]
	Order   []int64   // order [B, L] pass in which the position was opened, from 0; -1 where there was no mask
	Margin  []float32 // margin [B, L] how far the choice was from another one at that pass: the smaller of the gaps to the next position's and to the next token's probability; +Inf elsewhere
	Never   []int64   // never [n] ids, sorted: the mask and what the model suppresses
	Mask    int64     // metadata "mask_token_id"
}

// maxReference bounds B x L x V.
const maxReference = 1 << 22

// WriteFile writes the reference as a safetensors file.
func (r *Reference) WriteFile(path string) error {
	b, l := int64(r.B), int64(r.L)
	tensors := []safetensors.Tensor{
		safetensors.Of("input_ids", []int64{b, l}, r.InputIDs), safetensors.Of("attention_mask", []int64{b, l}, r.AttentionMask),
		safetensors.Of("logits", []int64{b, l, int64(r.V)}, r.Logits),
		safetensors.Of("begin", []int64{b, l}, r.Begin), safetensors.Of("written", []int64{b, l}, r.Written), safetensors.Of("order", []int64{b, l}, r.Order),
		safetensors.Of("margin", []int64{b, l}, r.Margin), safetensors.Of("never", []int64{int64(len(r.Never))}, r.Never),
	}
	for _, t := range []struct {
		name   string
		shape  []int64
		values []float32
	}{{"timesteps", []int64{b}, r.Timesteps}, {"insertion_rate", []int64{b, l + 1}, r.InsertionRate}, {"unmask_rate", []int64{b, l}, r.UnmaskRate}} {
		if t.values != nil {
			tensors = append(tensors, safetensors.Of(t.name, t.shape, t.values))
		}
	}
	safetensors.Sort(tensors)
	return safetensors.WriteFile(path, tensors, map[string]string{"mask_token_id": strconv.FormatInt(r.Mask, 10)})
}

// Limit is how far logits in single precision may be from the reference's: 1e-4, or 1e-5 of the largest if that is more.
func (r *Reference) Limit() float64 {
	largest := 0.0
	for i, real := range r.AttentionMask {
		if real == 1 {
			for _, x := range r.Logits[i*r.V : (i+1)*r.V] {
				largest = max(largest, math.Abs(float64(x)))
			}
		}
	}
	return max(1e-4, 1e-5*largest)
}
