package spread_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/spread"
)

func streams(t *testing.T, head sampling.Head, whole *fake, side ...*fake) *spread.Streams {
	t.Helper()
	s, err := spread.NewStreams(whole, named("stream", side))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := s.Configure(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	return s
}

// Batches with a row for each stream go side by side, others whole, and so does everything where the head keeps something or hands out logits.
// The statistics are the same.
func TestStreamsDeal(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 5, 6, 3, 1}
	gumbel := sampling.Head{Needs: sampling.Needs{Proposal: true}, Draw: sampling.DrawGumbel}
	for _, c := range []struct {
		name        string
		head        sampling.Head
		whole, side []int // rows of the passes
	}{
		{"plain", sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}}, []int{1, 2, 4, 5, 1}, []int{1, 2, 1}},
		{"memory", sampling.Head{Needs: sampling.Needs{P1: true, KLPrev: true}}, sizes, nil},
		{"credit", sampling.Head{Edits: sampling.Edits{Credit: sampling.Credit{Alpha: 1, Gamma: 1, Beta: 1}}}, sizes, nil},
		{"logits", sampling.Head{Needs: sampling.Needs{Logits: true}}, sizes, nil},
		{"gumbel", gumbel, sizes, nil},
	} {
		whole, side, alone := &fake{v: 5}, []*fake{{v: 5}, {v: 5}, {v: 5}}, &fake{v: 5}
		s := streams(t, c.head, whole, side[0], side[1], side[2])
		if err := alone.Configure(t.Context(), c.head); err != nil {
			t.Fatal(err)
		}
		for range 32 { // streams wait for so many batches
			if _, err := s.Batch(3, 4); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range sizes {
			var got [2]*sampling.Statistics
			for i, d := range []sampling.Denoiser{s, alone} {
				batch, err := d.Batch(b, 4)
				if err != nil {
					t.Fatal(err)
				}
				for k := range batch.Tokens {
					batch.Tokens[k], batch.Attention[k], batch.Active[k], batch.Uniform[k] = int64(k*k%5), 1, 1, 0.5
				}
				for r := range b {
					batch.Slots[r], batch.Params[r] = int32(r), sampling.Params{Temperature: 1, TopP: 1}
				}
				if got[i], err = d.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(got[1], got[0]); diff != "" {
				t.Errorf("%s: %d rows: %s", c.name, b, diff)
			}
		}
		if !slices.Equal(whole.ran, c.whole) {
			t.Errorf("%s: whole ran %v, expected %v", c.name, whole.ran, c.whole)
		}
		if got := side[0].ran; !slices.Equal(got, c.side) {
			t.Errorf("%s: the first stream ran %v, expected %v", c.name, got, c.side)
		}
	}
}

// A stream that fails is named, and the next batch may still run whole.
func TestStreamsFail(t *testing.T) {
	bad := errors.New("out of memory")
	s := streams(t, sampling.Head{Needs: sampling.Needs{Proposal: true}}, &fake{v: 3}, &fake{v: 3}, &fake{v: 3, fails: bad})
	for range 32 { // which run whole
		if _, err := s.Batch(2, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Batch(2, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); !errors.Is(err, bad) || !strings.HasPrefix(err.Error(), "stream 1: ") {
		t.Errorf("got %v", err)
	}
	for _, size := range [][2]int{{1, 2}, {2, 513}} { // too few rows, too many positions
		if _, err := s.Batch(size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := spread.NewStreams(&fake{v: 3}, named("stream", []*fake{{v: 3}, {v: 4}})); err == nil {
		t.Error("streams of two models were taken")
	}
}
