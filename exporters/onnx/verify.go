package onnx

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	runtime "github.com/mdmhost/mdmhost/runtimes/onnx"
)

//go:embed *.py
var scripts embed.FS

// Verifier is the verifier in Python of exports with an ONNX file, a denoiser.py and an engine.py. It lets the export answer, and holds its statistics
// against numpy.
func Verifier() []byte {
	return script("verify.py")
}

// script is one of this package's Python files.
func script(name string) []byte {
	b, err := scripts.ReadFile(name)
	if err != nil {
		panic(err) // the name is not one of them
	}
	return b
}

// Reference is the source's reference that an export with these sizes can answer for: shorter rows where the length is fixed below
// those of the usual one, and rows of just that length where the model cannot be told of padding.
func Reference(ctx context.Context, s *exporters.Source, o exporters.Options) (*exporters.Reference, error) {
	r, err := s.Reference(ctx)
	if err != nil || o.Length == 0 || s.AttentionMask && r.L <= o.Length || r.L == o.Length {
		return r, err
	}
	m, signature := *s.Model, *s.Signature
	signature.Length = o.Length
	m.Signature = &signature
	return (&exporters.Source{Model: &m, Digest: s.Digest}).Reference(ctx)
}

// answers lets this program's own runtime answer from the export.
func answers(ctx context.Context, r *exporters.Reference, dir string) (_ *exporters.Verdict, err error) {
	m, err := model.Open(dir)
	if err != nil {
		return nil, err
	}
	d, err := runtime.Open(ctx, runtime.Model{Name: dir, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V}, runtime.Options{Head: runtime.HeadGo})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	needs := sampling.Needs{Logits: true, InsertionRate: m.InsertionRate, UnmaskRate: m.UnmaskRate}
	if err := d.Configure(ctx, sampling.Head{Needs: needs, Suppress: m.Suppress()}); err != nil {
		return nil, err
	}
	most := r.B // rows of a pass
	if m.FixedRows() > 0 {
		most = min(most, m.FixedRows())
	}
	return r.Compare(fmt.Sprintf("ONNX Runtime %s", d.Version()), func(ids []int64) (exporters.Answer, error) {
		var all exporters.Answer
		for first := 0; first < r.B; first += most {
			n := min(most, r.B-first)
			b, err := d.Batch(n, r.L)
			if err != nil {
				return all, err
			}
			copy(b.Tokens, ids[first*r.L:])
			copy(b.Attention, r.AttentionMask[first*r.L:])
			if r.Timesteps != nil {
				copy(b.Time, r.Timesteps[first:])
			}
			clear(b.Active)
			for i := range b.Params {
				b.Params[i] = sampling.Params{TopP: 1}
			}
			got, err := d.Run(ctx)
			if err != nil {
				return all, err
			}
			all.Logits, all.InsertionRate, all.UnmaskRate = append(all.Logits, got.Logits...), append(all.InsertionRate, got.InsertionRate...), append(all.UnmaskRate, got.UnmaskRate...)
		}
		return all, nil
	})
}

// worst joins two verdicts on one export.
func worst(a, b *exporters.Verdict) *exporters.Verdict {
	out := *a
	out.Stack = a.Stack + ", " + b.Stack
	out.MaxLogit, out.MaxRate = max(a.MaxLogit, b.MaxLogit), max(a.MaxRate, b.MaxRate)
	if b.TokenErrors-b.NearTies > a.TokenErrors-a.NearTies || b.TokenErrors-b.NearTies == a.TokenErrors-a.NearTies && b.TokenErrors > a.TokenErrors {
		out.TokenErrors, out.NearTies = b.TokenErrors, b.NearTies
	}
	return &out
}
