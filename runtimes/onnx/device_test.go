package onnx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
)

// biased is a denoiser with every kind of input: its logits are those of the token, moved by what the row attends to.
func biased() Model {
	const v, rows, length = 9, "b", "l"
	rng := rand.New(rand.NewPCG(3, 5))
	table := make([]float32, v*v)
	for i := range table {
		table[i] = rng.Float32()*8 - 4
	}
	ints := func(name string) *graph.ValueInfo {
		return &graph.ValueInfo{Name: name, Type: graph.Int64, HasRank: true, Shape: []graph.Dim{graph.Named(rows), graph.Named(length)}}
	}
	m := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "biased",
		Nodes: []*graph.Node{
			{Op: "Gather", Inputs: []string{"table", "input_ids"}, Outputs: []string{"token"}},      // [B, L, V]
			{Op: "Gather", Inputs: []string{"table", "position_ids"}, Outputs: []string{"place"}},   // [B, L, V]
			{Op: "Squeeze", Inputs: []string{"attention_bias", "one"}, Outputs: []string{"scores"}}, // [B, L, L]
			{Op: "Softmax", Inputs: []string{"scores"}, Outputs: []string{"shares"}},
			{Op: "Add", Inputs: []string{"token", "place"}, Outputs: []string{"both"}},
			{Op: "MatMul", Inputs: []string{"shares", "both"}, Outputs: []string{"mean"}},
			{Op: "Add", Inputs: []string{"token", "mean"}, Outputs: []string{"logits"}},
		},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{v, v}, table), graph.OfInts("one", []int64{1}, []int64{1})},
		Inputs: []*graph.ValueInfo{ints("input_ids"), ints("position_ids"), ints("attention_mask"),
			{Name: "attention_bias", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named(rows), graph.Known(1), graph.Named(length), graph.Named(length)}}},
		Outputs: []*graph.ValueInfo{{Name: "logits", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named(rows), graph.Named(length), graph.Known(v)}}},
	}}
	return Model{Name: "biased", Data: m.Encode(), V: v, MaskID: 8}
}

// fill fills pass number n of a run: rows come with other tokens, and now and then with other padding.
func fill(b *sampling.Batch, n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b.Tokens {
		b.Tokens[i], b.Active[i], b.Uniform[i] = int64(rng.IntN(9)), 1, rng.Float64()
		b.Attention[i] = 1
		if i%b.L >= b.L-n/3%3 {
			b.Attention[i] = 0
		}
	}
	for i := range b.Params {
		b.Params[i] = sampling.Params{Temperature: float32(n % 2), TopP: 1}
		b.Slots[i], b.Fresh[i] = int32(i), 0
		if n == 0 {
			b.Fresh[i] = 1
		}
	}
}

// rowsOf are the statistics of a run of ten passes of two sizes.
func rowsOf(t *testing.T, o Options, head sampling.Head, run func(*Denoiser) (*sampling.Statistics, error)) (out []string) {
	t.Helper()
	d, err := Open(t.Context(), biased(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := d.Configure(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		batch, err := d.Batch(2+n/5, 6)
		if err != nil {
			t.Fatal(err)
		}
		fill(batch, n)
		s, err := run(d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(s.Proposal, s.P1, s.KLPrev, s.LogpLeaveOneOut, s.Entropy))
	}
	return out
}

var deviceHead = sampling.Head{Suppress: []int32{8}, Needs: sampling.Needs{Proposal: true, P1: true, Entropy: sampling.OnModel, KLPrev: true, LogpLeaveOneOut: true}}

func plainRun(t *testing.T) func(*Denoiser) (*sampling.Statistics, error) {
	return func(d *Denoiser) (*sampling.Statistics, error) { return d.Run(t.Context()) }
}

// A session whose tensors live on a device gives what one on the CPU gives, number for number.
func TestDeviceTensors(t *testing.T) {
	want := rowsOf(t, Options{Head: HeadGraph, Threads: 1}, deviceHead, plainRun(t))
	for _, o := range []Options{{Provider: "stand-in0", Threads: 1}, {Provider: "stand-in1", Threads: 1, CUDAGraph: true}} {
		if diff := cmp.Diff(want, rowsOf(t, o, deviceHead, plainRun(t))); diff != "" {
			t.Errorf("provider %s (-cpu +device):\n%s", o.Provider, diff)
		}
	}
}

// A session that replays CUDA graphs touches no memory of the host: what lies there while it runs is not what it reads, and is not
// written. The number of a graph stands for the same addresses always.
func TestReplaysTouchTheDeviceAlone(t *testing.T) {
	replays(t, "stand-in1", rowsOf(t, Options{Head: HeadGraph, Threads: 1}, deviceHead, plainRun(t)))
}

// replays runs the passes with CUDA graphs and expects the statistics of others without.
func replays(t *testing.T, provider string, want []string) {
	t.Helper()
	addresses := map[any][]any{}
	got := rowsOf(t, Options{Provider: provider, Threads: 1, CUDAGraph: true}, deviceHead, func(d *Denoiser) (*sampling.Statistics, error) {
		pass := d.plan.Current()
		if err := pass.Feed(); err != nil {
			return nil, err
		}
		b := pass.Values.(*bound)
		for _, c := range b.copies {
			if c.version != *c.Version {
				if err := d.carry(d.host, c.Data, d.place, c.to, c.Count*sizes[c.Type]); err != nil {
					return nil, err
				}
			}
			c.version = *c.Version
		}
		if err := d.convey(b); err != nil {
			return nil, err
		}
		if err := d.lift.run(b.up); err != nil {
			return nil, err
		}
		var before [][]byte
		for _, x := range hostTensors(pass) {
			before = append(before, slices.Clone(x))
			for i := range x {
				x[i] = 0x2a
			}
		}
		if err := d.runSession(t.Context(), b, pass.Turn); err != nil {
			return nil, err
		}
		for i, x := range hostTensors(pass) {
			if slices.ContainsFunc(x, func(c byte) bool { return c != 0x2a }) {
				t.Errorf("tensor %d of the host was written", i)
			}
			copy(x, before[i])
		}
		var at []any
		for _, v := range slices.Concat(b.in[pass.Turn], b.out[pass.Turn]) {
			at = append(at, v)
		}
		if run := b.run[pass.Turn]; addresses[run] == nil {
			addresses[run] = at
		} else if !slices.Equal(addresses[run], at) {
			t.Error("a graph has other tensors than the one of its number")
		}
		return finish(d, pass, b)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-without +with graphs):\n%s", diff)
	}
	if len(addresses) != 4 { // two sizes, two turns
		t.Errorf("%d graphs, want 4", len(addresses))
	}
}

func finish(d *Denoiser, pass *forward.Pass, b *bound) (*sampling.Statistics, error) {
	if err := d.lower.run(b.down); err != nil {
		return nil, err
	}
	return pass.Fetch()
}

// hostTensors are the bytes of the tensors of a pass that are the host's.
func hostTensors(p *forward.Pass) (out [][]byte) {
	for _, x := range slices.Concat(p.In, p.Out) {
		if x.Turned == nil {
			out = append(out, forward.Of[byte](forward.Tensor{Data: x.Data, Count: x.Count * sizes[x.Type]}))
		}
	}
	return out
}

// What does not change crosses once, and what changes seldom then alone.
func TestSeldomCopies(t *testing.T) {
	copies := map[string]int{}
	rowsOf(t, Options{Provider: "stand-in0"}, deviceHead, func(d *Denoiser) (*sampling.Statistics, error) {
		pass := d.plan.Current()
		b := pass.Values.(*bound)
		var before []int
		for _, c := range b.copies {
			before = append(before, c.version)
		}
		s, err := d.Run(t.Context())
		for i, c := range b.copies {
			if c.version != before[i] {
				copies[fmt.Sprint(len(c.Dims))]++
			}
		}
		return s, err
	})
	// position_ids once a size; attention_bias at each pass with other padding: passes 0 and 3, then 5, 6 and 9.
	if diff := cmp.Diff(map[string]int{"2": 2, "4": 5}, copies); diff != "" {
		t.Error(diff)
	}
}

// Operators that the provider leaves to the CPU are named.
func TestPlacementIsNoted(t *testing.T) {
	d, err := Open(t.Context(), biased(), Options{Provider: "stand-in0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Configure(t.Context(), deviceHead); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(d.Notes(), "\n")
	for _, want := range []string{"provider stand-in0: runs on the CPU", "MatMul (1)", "Softmax (1)"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q in them", notes, want)
		}
	}
	if strings.Contains(notes, "Shape (") {
		t.Errorf("notes %q name what computes shapes", notes)
	}
}
