package exporters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// referenceSeed makes the rows of every reference.
const referenceSeed = 8

// times are the timesteps of the rows, again from the first behind the last.
var times = []float32{0.9, 0.5, 0.2}

// answer lets ONNX Runtime answer for the model. Logits are the file's own: mdm.json's logits_shift is not applied.
func answer(ctx context.Context, m *model.Model, library string) (*Reference, error) {
	r := rows(m)
	a, err := r.open(ctx, m, library)
	if err != nil {
		return nil, err
	}
	defer a.denoiser.Close() //nolint:errcheck // nothing is written
	a.never = make([]bool, r.V)
	for _, id := range r.Never {
		a.never[id] = true
	}
	got, err := a.run(r.InputIDs)
	if err != nil {
		return nil, err
	}
	r.Logits, r.InsertionRate, r.UnmaskRate = slices.Clone(got.Logits), slices.Clone(got.InsertionRate), slices.Clone(got.UnmaskRate)
	r.blank()
	for i, x := range r.Logits {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 1) {
			return nil, fmt.Errorf("model %s: its logit of token %d at row %d, position %d is %g, expected a number; export an earlier checkpoint", m.Name, i%r.V, i/r.V/r.L, i/r.V%r.L, x)
		}
	}
	if err := a.write(); err != nil {
		return nil, err
	}
	return r, nil
}

// CompareModel holds a model, which ONNX Runtime runs in this process, against the reference. library is that of [Source].
func (r *Reference) CompareModel(ctx context.Context, m *model.Model, library string) (*Verdict, error) {
	a, err := r.open(ctx, m, library)
	if err != nil {
		return nil, err
	}
	defer a.denoiser.Close() //nolint:errcheck // nothing is written
	return r.Compare("ONNX Runtime "+a.denoiser.Version(), a.run)
}

// rows are what is asked: row 0 is written from nothing but masks, the others from what they were given.
func rows(m *model.Model) *Reference {
	prefix, suffix := m.Tokenizer.Template()
	around := len(prefix) + len(suffix)
	r := &Reference{B: 3, L: max(24, around+8), V: m.V, Mask: int64(m.MaskID)}
	if m.MaxLength > 0 {
		r.L = min(r.L, m.MaxLength)
	}
	if r.B*r.L*r.V > maxReference {
		r.B = 2
		r.L = min(r.L, max(maxReference/(r.B*r.V), around+1))
	}
	only := m.FixedLength()
	if m.Manifest.Length.Policy == "fixed" && only == 0 {
		only = m.Manifest.Length.Cap
	}
	if only > 0 {
		r.L = only
		for r.B > 1 && r.B*r.L*r.V > maxReference {
			r.B--
		}
	}
	if m.FixedRows() > 0 {
		r.B = m.FixedRows()
	}
	var usual []int64 // tokens of texts
	for id := range int32(m.V) {
		if !slices.Contains(prefix, id) && !slices.Contains(suffix, id) && !m.Tokenizer.Special(id) {
			usual = append(usual, int64(id))
		}
	}
	for _, id := range m.Suppress() {
		r.Never = append(r.Never, int64(id))
	}
	usual = slices.DeleteFunc(usual, func(id int64) bool { _, never := slices.BinarySearch(r.Never, id); return never })
	if len(usual) == 0 {
		usual = []int64{int64(m.PadID)}
	}
	dice := rand.New(rand.NewPCG(referenceSeed, 0))
	for i := range r.B {
		length := r.L
		if m.AttentionMask && m.Manifest.Length.Policy != "fixed" {
			length = max(r.L-5*(i%3), min(r.L, around+1))
		}
		for j := range r.L {
			given, begin, real := int64(m.PadID), int64(m.PadID), int64(0)
			if j < length {
				real = 1
				switch inside := j >= len(prefix) && j < length-len(suffix); {
				case inside:
					if given = usual[dice.IntN(len(usual))]; dice.IntN(5) < 2 {
						given = r.Mask
					}
					if begin = given; i == 0 {
						begin = r.Mask
					}
				case j < len(prefix):
					given, begin = int64(prefix[j]), int64(prefix[j])
				default:
					given = int64(suffix[max(j-length+len(suffix), 0)])
					begin = given
				}
			}
			r.InputIDs, r.Begin, r.AttentionMask = append(r.InputIDs, given), append(r.Begin, begin), append(r.AttentionMask, real)
		}
		if m.Timesteps {
			r.Timesteps = append(r.Timesteps, times[i%len(times)])
		}
	}
	return r
}

// blank puts 0 where an answer is undefined: at padding, and in gaps behind the row.
func (r *Reference) blank() {
	for i := range r.B {
		for j := range r.L {
			if at := i*r.L + j; r.AttentionMask[at] == 0 {
				clear(r.Logits[at*r.V : (at+1)*r.V])
				if r.UnmaskRate != nil {
					r.UnmaskRate[at] = 0
				}
				if r.InsertionRate != nil {
					r.InsertionRate[at+i+1] = 0 // gap j+1 of [B, L+1]
				}
			}
		}
	}
}

// answering is a model that answers for the rows of a reference, which may be in the making.
type answering struct {
	*Reference
	ctx      context.Context
	denoiser *onnx.Denoiser
	most     int    // rows of a pass
	never    []bool // [V], of a reference in the making
	got      Answer // the last one, to be reused
}

// open lets ONNX Runtime load a model.
func (r *Reference) open(ctx context.Context, m *model.Model, library string) (*answering, error) {
	d, err := onnx.Open(ctx, onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V}, onnx.Options{Head: onnx.HeadGo, Library: library})
	if err != nil {
		return nil, err
	}
	needs := sampling.Needs{Logits: true, InsertionRate: m.InsertionRate, UnmaskRate: m.UnmaskRate}
	if err := d.Configure(ctx, sampling.Head{Needs: needs, Suppress: m.Suppress()}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	a := &answering{Reference: r, ctx: ctx, denoiser: d, most: r.B}
	if m.FixedRows() > 0 {
		a.most = min(a.most, m.FixedRows())
	}
	return a, nil
}

// run answers for tokens [B, L].
func (a *answering) run(tokens []int64) (Answer, error) {
	all := Answer{a.got.Logits[:0], a.got.InsertionRate[:0], a.got.UnmaskRate[:0]}
	for first := 0; first < a.B; first += a.most {
		b, err := a.denoiser.Batch(min(a.most, a.B-first), a.L)
		if err != nil {
			return Answer{}, err
		}
		copy(b.Tokens, tokens[first*a.L:])
		copy(b.Attention, a.AttentionMask[first*a.L:])
		if a.Timesteps != nil {
			copy(b.Time, a.Timesteps[first:])
		}
		clear(b.Active)
		for i := range b.Params {
			b.Params[i] = sampling.Params{TopP: 1}
		}
		got, err := a.denoiser.Run(a.ctx)
		if err != nil {
			return Answer{}, err
		}
		all = Answer{append(all.Logits, got.Logits...), append(all.InsertionRate, got.InsertionRate...), append(all.UnmaskRate, got.UnmaskRate...)}
	}
	a.got = all
	return all, nil
}

// write opens all masks.
func (a *answering) write() error {
	a.Written = slices.Clone(a.Begin)
	a.Order, a.Margin = make([]int64, a.B*a.L), make([]float32, a.B*a.L)
	for i := range a.Order {
		a.Order[i], a.Margin[i] = -1, float32(math.Inf(1))
	}
	for pass := int64(0); slices.Contains(a.Written, a.Mask); pass++ {
		got, err := a.run(a.Written)
		if err != nil {
			return err
		}
		for i := range a.B {
			a.open(i, pass, got.Logits)
		}
	}
	return nil
}

// open opens a mask of row i, if it has one.
func (a *answering) open(i int, pass int64, logits []float32) {
	best, at, margin := 0.0, -1, 0.0
	second := 0.0 // of positions
	var token int64
	for p := i * a.L; p < (i+1)*a.L; p++ {
		if a.Written[p] != a.Mask {
			continue
		}
		id, p1, p2 := top(logits[p*a.V:(p+1)*a.V], a.never)
		if at < 0 || p1 > best {
			second = best
			best, at, token, margin = p1, p, id, p1-p2
		} else {
			second = max(second, p1)
		}
	}
	if at >= 0 {
		a.Written[at], a.Order[at], a.Margin[at] = token, pass, float32(min(margin, best-second))
	}
}

// top is the most probable token, of ties the lowest, its probability and that of the next.
func top(logits []float32, never []bool) (id int64, p1, p2 float64) {
	largest, next := math.Inf(-1), math.Inf(-1)
	id = -1
	for t, x := range logits {
		if never[t] {
			continue
		}
		switch x := float64(x); {
		case id < 0 || x > largest:
			id, largest, next = int64(t), x, largest
		case x > next:
			next = x
		}
	}
	sum := 0.0
	for t, x := range logits {
		if !never[t] {
			sum += math.Exp(float64(x) - largest)
		}
	}
	return id, 1 / sum, math.Exp(next-largest) / sum
}
