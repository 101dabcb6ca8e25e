package spread_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/spread"
)

// provider runs the sessions; another build of the tests has another.
var provider = "cpu"

// A real model in two sessions writes the tokens that it writes in one, drawn with noise and with a statistic that remembers.
func TestTwoSessions(t *testing.T) {
	m, err := model.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *onnx.Denoiser {
		d, err := onnx.Open(t.Context(), backend.Source(m), onnx.Options{Provider: provider, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	two, err := spread.New([]spread.Member{{Name: "session 0", Denoiser: open()}, {Name: "session 1", Denoiser: open()}}, spread.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var written [][]int64
	for _, d := range []sampling.Denoiser{open(), two} {
		head := sampling.Head{Suppress: m.SuppressWith(nil), Needs: sampling.Needs{Proposal: true, P1: true, KLPrev: true}}
		if err := d.Configure(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		written = append(written, decode(t, d, int64(m.MaskID)))
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(written[0], written[1]) {
		t.Errorf("one session wrote %v, two wrote %v", written[0], written[1])
	}
}

// decode writes three rows of 81 cells, at every pass the surest fifth of what is blank, and returns their tokens [3*81].
func decode(t *testing.T, d sampling.Denoiser, mask int64) []int64 {
	t.Helper()
	const b, l = 3, 81
	rng := rand.New(rand.NewPCG(3, 4))
	tokens := slices.Repeat([]int64{mask}, b*l)
	for fresh := uint8(1); slices.Contains(tokens, mask); fresh = 0 {
		batch, err := d.Batch(b, l)
		if err != nil {
			t.Fatal(err)
		}
		copy(batch.Tokens, tokens)
		for i := range tokens {
			batch.Attention[i], batch.Active[i], batch.Uniform[i] = 1, 0, rng.Float64()
			if tokens[i] == mask {
				batch.Active[i] = 1
			}
		}
		for r := range b {
			batch.Slots[r], batch.Fresh[r], batch.Params[r] = int32(r), fresh, sampling.Params{Temperature: 1, TopP: 1}
		}
		st, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for r := range b {
			var blanks []int
			for i := r * l; i < (r+1)*l; i++ {
				if tokens[i] == mask {
					blanks = append(blanks, i)
				}
			}
			slices.SortStableFunc(blanks, func(x, y int) int { return cmp.Compare(st.P1[y], st.P1[x]) })
			for _, i := range blanks[:(len(blanks)+4)/5] {
				tokens[i] = int64(st.Proposal[i])
			}
		}
	}
	return tokens
}
