package onnx_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	mdm "github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// opened is a model on one thread.
func opened(t *testing.T, m *mdm.Model) *onnx.Denoiser {
	t.Helper()
	d, err := onnx.Open(t.Context(), onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V}, onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Denoisers side by side, in one session, give what each gives alone, however their passes meet and whoever leaves first.
func TestBeside(t *testing.T) {
	m, err := mdm.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	head := sampling.Head{Suppress: m.SuppressWith(nil), Needs: sampling.Needs{Proposal: true, P1: true, Entropy: sampling.OnModel}}
	const side, passes, l = 4, 6, 81
	// run opens one more cell of two rows a pass, with other tokens for each denoiser.
	run := func(d *onnx.Denoiser, at int) (seen []float32) {
		for pass := range passes {
			b, err := d.Batch(2, l)
			if err != nil {
				t.Error(err)
				return nil
			}
			for i := range b.Tokens {
				b.Tokens[i], b.Attention[i], b.Active[i], b.Uniform[i] = int64(m.MaskID), 1, 1, 0.5
				if i%l < pass {
					b.Tokens[i], b.Active[i] = (int64(m.MaskID)+1+int64(i+at)%9)%int64(m.V), 0
				}
			}
			for r := range 2 {
				b.Slots[r], b.Params[r] = int32(r), sampling.Params{Temperature: 1, TopP: 1}
			}
			s, err := d.Run(t.Context())
			if err != nil {
				t.Error(err)
				return nil
			}
			seen = append(append(seen, s.P1...), s.Entropy...)
		}
		return seen
	}
	var alone [side][]float32
	for at := range side {
		d := opened(t, m)
		if err := d.Configure(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		alone[at] = run(d, at)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if slices.Equal(alone[0], alone[1]) {
		t.Fatal("the rows do not differ: this test would see nothing")
	}

	all := opened(t, m).Beside(side)
	for _, d := range all {
		if err := d.Configure(t.Context(), head); err != nil {
			t.Fatal(err)
		}
	}
	for left := range side {
		var got [side][]float32
		var wait sync.WaitGroup
		for at, d := range all[left:] {
			wait.Go(func() { got[left+at] = run(d, left+at) })
		}
		wait.Wait()
		for at := left; at < side; at++ {
			if !slices.Equal(got[at], alone[at]) {
				t.Errorf("%d left: the denoiser %d sees something else beside others", left, at)
			}
		}
		if err := all[left].Close(); err != nil { // the first is the one whose file the session was made of
			t.Error(err)
		}
	}
}

// Denoisers of one session cannot have different heads, nor one that keeps something between passes.
func TestBesideRefuses(t *testing.T) {
	m, err := mdm.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	two := opened(t, m).Beside(2)
	if err := two[0].Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Proposal: true, KLPrev: true}}); err == nil || !strings.Contains(err.Error(), "keeps something of every row") {
		t.Errorf("a memory: %v", err)
	}
	if err := two[0].Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Proposal: true}}); err != nil {
		t.Error(err)
	}
	if err := two[1].Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Proposal: true}, Suppress: []int32{1}}); err == nil || !strings.Contains(err.Error(), "made for another head") {
		t.Errorf("another head: %v", err)
	}
	for _, d := range two {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
