package onnx

import (
	"context"
	"embed"

	"github.com/mdmhost/mdmhost/exporters"
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
	return (&exporters.Source{Model: &m, Digest: s.Digest, Library: s.Library}).Reference(ctx)
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
