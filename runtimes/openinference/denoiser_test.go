package openinference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The model of most tests.
const v, mask = 13, 3

var plain = Model{Name: "fake", MaskID: mask, PadID: 1, V: v, Suppress: []int32{mask, 7}, AttentionMask: true}

func open(t *testing.T, m Model, o Options, head sampling.Head) *Denoiser {
	t.Helper()
	d, err := Open(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Configure(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	return d
}

// batchOf fills a batch with rows of different lengths, some at temperature 0.
func batchOf(t *testing.T, d *Denoiser, b, l int) *sampling.Batch {
	t.Helper()
	batch, err := d.Batch(b, l)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(b), uint64(l)))
	for i := range b {
		n := l - i%3
		for j := range l {
			at := i*l + j
			batch.Tokens[at], batch.Attention[at], batch.Active[at], batch.Uniform[at] = int64(rng.IntN(v)), 1, 1, rng.Float64()
			if rng.IntN(2) == 0 {
				batch.Tokens[at] = mask
			}
			if j >= n {
				batch.Tokens[at], batch.Attention[at], batch.Active[at] = 1, 0, 0
			}
		}
		batch.Params[i], batch.Slots[i], batch.Fresh[i] = sampling.Params{Temperature: float32(i % 2), TopP: 1}, int32(i), 1
		if batch.Time != nil {
			batch.Time[i] = rng.Float32()
		}
	}
	return batch
}

// TestStatistics: every way of asking gives what sampling.Compute has, whatever the sizes that the graph is fixed to, and however a batch is
// divided. Noise that float32 rounds to the other side of a token's border would differ: with these numbers none does.
func TestStatistics(t *testing.T) {
	binary := []string{"binary_tensor_data", "model_configuration"}
	for _, c := range []struct {
		name   string
		change func(*fake)
		http   bool
		most   int // rows of a request
	}{
		{name: "grpc"},
		{name: "grpc in fields", change: func(f *fake) { f.typed = true }},
		{name: "grpc, three rows a request", change: func(f *fake) { f.maxBatch, f.extensions = 3, binary }, most: 3},
		{name: "grpc, int32", change: func(f *fake) { f.outputs[1].datatype, f.inputs[0].datatype, f.typed = "INT32", "INT32", true }},
		{name: "grpc, as Triton's batches have it", change: func(f *fake) { f.maxBatch, f.extensions, f.inputs[2].shape = 5, binary, []int64{-1, 1} }, most: 5},
		{name: "grpc, fixed sizes", change: func(f *fake) { f.fixed(4, 14) }, most: 4},
		{name: "http as text", http: true},
		{name: "http as bytes", http: true, change: func(f *fake) { f.extensions, f.maxBatch = binary, 5 }, most: 5},
		{name: "http, fixed sizes", http: true, change: func(f *fake) { f.fixed(2, 11) }, most: 2},
	} {
		for _, where := range []string{HeadServed, HeadGo} {
			t.Run(c.name+"/"+where, func(t *testing.T) {
				var o Options
				var servers []*fake
				for range 2 {
					f := servedHead(v, plain.Suppress...)
					if c.change != nil {
						c.change(f)
					}
					servers = append(servers, f)
					if c.http {
						o.Endpoints = append(o.Endpoints, f.serveHTTP(t)+"/gate")
					} else {
						o.Endpoints = append(o.Endpoints, "grpc://"+f.serveGRPC(t))
					}
				}
				o.Head = where
				head := sampling.Head{Needs: everything, Suppress: plain.Suppress}
				if where == HeadGo {
					head.Needs.TopK, head.Needs.KLPrev, head.Needs.Logits, head.Filter = 3, true, true, true
				}
				d := open(t, plain, o, head)
				const b, l = 10, 11
				batch := batchOf(t, d, b, l)
				if where == HeadGo {
					batch.Params[1].TopP = 0.5
				}
				got, err := d.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := sampling.Statistics{}
				if err := sampling.Compute(allLogits(batch, batch.Tokens, v), v, batch, head, &want); err != nil {
					t.Fatal(err)
				}
				for _, st := range []*sampling.Statistics{got, &want} {
					blank(st, batch)
				}
				if diff := cmp.Diff(&want, got, cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				requests := 0
				for i, f := range servers {
					if len(f.rows) == 0 {
						t.Errorf("server %d was not asked, expected both to be", i)
					}
					for _, n := range f.rows {
						if requests++; c.most > 0 && n > c.most {
							t.Errorf("a request of %d rows, expected at most %d", n, c.most)
						}
					}
				}
				if traffic := d.Traffic(); traffic.Passes != 1 || traffic.Requests != int64(requests) || traffic.Retries != 0 || traffic.Sent < b*l*8 || traffic.Received < b*l*4 {
					t.Errorf("traffic %+v for %d requests", traffic, requests)
				}
				if again, err := d.Batch(b, l); err != nil || &again.Tokens[0] != &batch.Tokens[0] {
					t.Errorf("another batch of the same size has other memory (%v)", err)
				}
			})
		}
	}
}

// blank sets what is undefined to 0.
func blank(st *sampling.Statistics, b *sampling.Batch) {
	for at, active := range b.Active {
		if active != 0 {
			continue
		}
		st.Proposal[at] = 0
		for _, s := range [][]float32{st.LogpProposal, st.P1, st.P2, st.Entropy, st.LogpCurrent, st.KLPrev} {
			if s != nil {
				s[at] = 0
			}
		}
		if k := len(st.TopIDs) / len(b.Active); k > 0 {
			clear(st.TopIDs[at*k : (at+1)*k])
			clear(st.TopLogp[at*k : (at+1)*k])
		}
	}
}

// TestGuidedAndShifted: with logits here, guidance asks for every row with and without its prompt, and logits of models made of
// autoregressive ones move by a position.
func TestGuidedAndShifted(t *testing.T) {
	for _, fixedRows := range []int64{-1, 4} {
		f := servedHead(v, plain.Suppress...).fixed(fixedRows, -1)
		m := plain
		m.LogitsShift = 1
		head := sampling.Head{Needs: everything, Suppress: plain.Suppress, Guidance: 1.5}
		head.Needs.Logits = true
		crossed := make([]float32, 1<<12)
		d := open(t, m, Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}, Head: HeadGo, LogitsMemory: func(int) ([]float32, error) { return crossed, nil }}, head)
		const b, l = 3, 6
		batch := batchOf(t, d, b, l)
		for i, x := range batch.Tokens {
			if batch.Unconditional[i] = x; i%l < 2 {
				batch.Unconditional[i] = mask
			}
		}
		got, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if &got.Logits[0] != &crossed[0] {
			t.Error("logits lie elsewhere than in the memory that was given")
		}
		cond, un := allLogits(batch, batch.Tokens, v), allLogits(batch, batch.Unconditional, v)
		for i, x := range got.Logits {
			from := i
			if i/v%l > 0 {
				from -= v
			}
			if want := un[from] + 2.5*(cond[from]-un[from]); x != want {
				t.Fatalf("logit %d of position %d, row %d is %g, expected %g", i%v, i/v%l, i/v/l, x, want)
			}
		}
	}
}

// TestRates: rates of insertion models, which have a number more than positions, and times come and go.
func TestRates(t *testing.T) {
	for _, length := range []int64{-1, 9} {
		f := servedHead(v, plain.Suppress...)
		f.inputs = append(f.inputs, port{timesteps, "FP32", []int64{-1}})
		f.outputs = append(f.outputs, port{insertionRate, "FP32", []int64{-1, -1}})
		if length > 0 {
			f.fixed(-1, length)
			f.outputs[len(f.outputs)-1].shape[1]++
		}
		m := plain
		m.Timesteps, m.InsertionRate = true, true
		d := open(t, m, Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}}, sampling.Head{Needs: sampling.Needs{Proposal: true, InsertionRate: true}, Suppress: plain.Suppress})
		const b, l = 2, 5
		batch := batchOf(t, d, b, l)
		got, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []float32
		for i := range b {
			for j := range l + 1 {
				want = append(want, float32(batch.Tokens[i*l])+float32(j)/100)
			}
		}
		if diff := cmp.Diff(want, got.InsertionRate); diff != "" {
			t.Errorf("length %d (-want +got)\n%s", length, diff)
		}
	}
}

// TestFaultsOfLogits: a model whose logits are no numbers says so by proposals below 0, over JSON too, which has no NaN.
func TestFaultsOfLogits(t *testing.T) {
	for _, way := range []string{"grpc", "http"} {
		f := servedHead(v, plain.Suppress...)
		f.lie = func(out []tensor) []tensor {
			for i := range out {
				t := tensor{name: out[i].name, datatype: out[i].datatype, shape: out[i].shape}
				for k := range len(out[i].raw) / widths[t.datatype] {
					if x := []float32{float32(math.NaN())}; t.datatype == "FP32" {
						if k > 0 {
							out[i].floats(k, x)
						}
						t.addFloat(x[0])
					} else if k == 0 {
						t.addInteger(int64(sampling.FaultNaN))
					} else {
						t.addInteger(out[i].integer(k))
					}
				}
				out[i] = t
			}
			return out
		}
		address := map[string]func() string{"grpc": func() string { return "grpc://" + f.serveGRPC(t) }, "http": func() string { return f.serveHTTP(t) }}[way]()
		d := open(t, plain, Options{Endpoints: []string{address}}, sampling.Head{Needs: everything, Suppress: plain.Suppress})
		batchOf(t, d, 1, 4)
		got, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Proposal[0] != sampling.FaultNaN || slices.Min(got.Proposal[1:]) < 0 {
			t.Errorf("%s: proposals %v, expected %d first and tokens behind", way, got.Proposal, sampling.FaultNaN)
		}
	}
}
