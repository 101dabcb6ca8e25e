package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Real models: every head against the logits that come out, through a batch of two lengths.
func TestRealModels(t *testing.T) {
	for _, name := range []string{"rxnfp-bert", "rxnmapper-albert"} {
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				head := sampling.Head{Suppress: []int32{14}, Needs: allNeeds}
				head.Needs.Logits, head.Needs.TopK = true, 3
				d := open(t, realModel(name), onnx.Options{Head: mode, Threads: 2, Warmup: true}, head)
				const b, l = 2, 24
				batch := batchOf(t, d, b, l)
				rng := rand.New(rand.NewPCG(1, 2))
				for i := range batch.Tokens {
					batch.Tokens[i], batch.Uniform[i] = int64(15+rng.IntN(60)), rng.Float64()
					if i%l%5 == 3 {
						batch.Tokens[i] = 14
					}
					if i/l == 1 && i%l >= 10 {
						batch.Tokens[i], batch.Attention[i], batch.Active[i] = 0, 0, 0
					}
				}
				batch.Params[1].Temperature = 1
				got := runOf(t, d)
				var want sampling.Statistics
				if err := sampling.Compute(got.Logits, 591, batch, head, &want); err != nil {
					t.Fatal(err)
				}
				for i, active := range batch.Active {
					if active == 0 {
						continue
					}
					if got.Proposal[i] != want.Proposal[i] || !slices.Equal(got.TopIDs[3*i:3*i+3], want.TopIDs[3*i:3*i+3]) {
						t.Errorf("position %d: proposal %d, want %d", i, got.Proposal[i], want.Proposal[i])
					}
					for k, s := range [][2][]float32{{got.P1, want.P1}, {got.P2, want.P2}, {got.Entropy, want.Entropy}, {got.LogpCurrent, want.LogpCurrent}, {got.LogpProposal, want.LogpProposal}} {
						if !same(s[0][i], s[1][i], 1e-5) {
							t.Errorf("position %d, statistic %d: %g, want %g", i, k, s[0][i], s[1][i])
						}
					}
				}

				// The second row alone, without padding, gives the same: nothing leaks through the mask.
				first := slices.Clone(got.Logits[l*591 : (l+10)*591])
				tokens := slices.Clone(batch.Tokens[l : l+10])
				alone := batchOf(t, d, 1, 10)
				copy(alone.Tokens, tokens)
				for i, x := range runOf(t, d).Logits {
					if math.Abs(float64(x-first[i])) > 1e-4 {
						t.Fatalf("logit %d of position %d is %g alone and %g in a padded batch", i%591, i/591, x, first[i])
					}
				}
			})
		}
	}
}

// Graphs as other exporters write them: all give the statistics of the plain one.
func TestModelVariants(t *testing.T) {
	const v, l, b = 17, 9, 3
	rng := rand.New(rand.NewPCG(3, 3))
	table := tableOf(l, v, rng)
	for i := range table { // what float16 can hold
		table[i] = float32(math.Round(float64(table[i])*8) / 8)
	}
	input := func(name string, typ graph.Type, dims ...graph.Dim) func(*graph.Model) {
		return func(m *graph.Model) { m.Graph.Inputs = append(m.Graph.Inputs, tensor(name, typ, dims...)) }
	}
	cast := func(to graph.Type) func(*graph.Model) {
		return func(m *graph.Model) {
			m.Graph.Nodes[0].Outputs[0] = "wide"
			m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Op: "Cast", Inputs: []string{"wide"}, Outputs: []string{"scores"}, Attributes: []*graph.Attribute{graph.Int("to", int64(to))}})
			m.Graph.Outputs[0].Name, m.Graph.Outputs[0].Type = "scores", to
		}
	}
	ids := func(typ graph.Type, dims ...graph.Dim) func(*graph.Model) {
		return func(m *graph.Model) {
			m.Graph.Inputs[0].Type, m.Graph.Inputs[0].Shape = typ, dims
			if dims[0].Size > 0 {
				m.Graph.Inputs[1].Shape = dims
				m.Graph.Outputs[0].Shape[0], m.Graph.Outputs[0].Shape[1] = dims[0], dims[1]
			}
		}
	}
	fixed := []graph.Dim{graph.Known(5), graph.Known(12)}
	for name, change := range map[string][]func(*graph.Model){
		"float16":         {cast(graph.Float16)},
		"float64":         {cast(graph.Float64)},
		"int32 ids":       {ids(graph.Int32, rowsAndLength...)},
		"all inputs":      {input("attention_mask", graph.Int64, rowsAndLength...), input("token_type_ids", graph.Int64, rowsAndLength...), input("timesteps", graph.Float32, graph.Named("b"))},
		"time as column":  {input("timesteps", graph.Float32, graph.Named("b"), graph.Known(1))},
		"float mask":      {input("attention_mask", graph.Float32, rowsAndLength...)},
		"fixed":           {ids(graph.Int64, fixed...), input("attention_mask", graph.Int64, fixed...)},
		"fixed, int32":    {ids(graph.Int32, fixed...), input("attention_mask", graph.Int64, fixed...), input("timesteps", graph.Float32, graph.Known(5))},
		"opset 18":        {func(m *graph.Model) { m.Opsets[0].Version = 18 }},
		"opset 20":        {func(m *graph.Model) { m.Opsets[0].Version = 20 }},
		"opset 23":        {func(m *graph.Model) { m.Opsets[0].Version = 23; m.IRVersion = 10 }},
		"IR 7, ai.onnx":   {func(m *graph.Model) { m.IRVersion = 7; m.Opsets[0].Domain = "ai.onnx" }},
		"unranked logits": {func(m *graph.Model) { m.Graph.Outputs[0].HasRank, m.Graph.Outputs[0].Shape = false, nil }},
	} {
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				pad := table
				if strings.HasPrefix(name, "fixed") {
					pad = append(slices.Clone(table), make([]float32, 3*v)...)
				}
				head := sampling.Head{Needs: allNeeds, Suppress: []int32{1}, Draw: sampling.DrawGumbel}
				head.Needs.TopK, head.Needs.Logits = 2, true
				var given []float32
				d := open(t, onnx.Model{Name: name, Data: tableModel(pad, v, change...), V: v}, onnx.Options{Head: mode, LogitsMemory: func(bytes int) ([]float32, error) {
					given = make([]float32, bytes/4)
					return given, nil
				}}, head)
				checkHead(t, d, head, table, b, l, v, func(i int) sampling.Params { return sampling.Params{Temperature: float32(i), TopP: 1} }, rng)
				st := runOf(t, d)
				if &st.Logits[0] != &given[0] {
					t.Error("the logits are not in the memory that was given")
				}
				for i, x := range st.Logits {
					if !same(x, table[i%len(table)], 0) {
						t.Fatalf("logit %d is %g, want %g", i, x, table[i%len(table)])
					}
				}
			})
		}
	}
}

// The statistics of a row depend neither on the batch, nor on threads, nor on what ran before.
func TestRowsAreIndependent(t *testing.T) {
	const v, l = 591, 9
	rng := rand.New(rand.NewPCG(8, 8))
	table := tableOf(l, v, rng)
	head := sampling.Head{Needs: allNeeds, Filter: true}
	uniform := make([]float64, l)
	for i := range uniform {
		uniform[i] = rng.Float64()
	}
	var want string
	for _, threads := range []int{1, 2} {
		d := open(t, onnx.Model{Name: "table", Data: tableModel(table, v)}, onnx.Options{Threads: threads}, head)
		for _, b := range []int{1, 7, 64, 1} {
			batch := batchOf(t, d, b, l)
			for i := range batch.Params {
				batch.Params[i] = sampling.Params{Temperature: 0.5 + float32(i), TopP: 0.95}
				copy(batch.Uniform[i*l:], uniform)
			}
			st := runOf(t, d)
			got := fmt.Sprint(st.Proposal[:l], st.P1[:l], st.P2[:l], st.Entropy[:l], st.LogpCurrent[:l], st.LogpProposal[:l])
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("batch %d, %d threads:\n%s\nwant\n%s", b, threads, got, want)
			}
		}
	}
}

func TestBuffersAreReused(t *testing.T) {
	d := open(t, onnx.Model{Name: "embed", Data: embedModel(20, 8, 30)}, onnx.Options{}, sampling.Head{Needs: allNeeds})
	a, _ := d.Batch(2, 5)
	c, _ := d.Batch(3, 5)
	again, err := d.Batch(2, 5)
	if err != nil || a != again || a == c {
		t.Error("equal sizes must return the same memory", err)
	}
	for l := 1; l < 80; l++ { // more shapes than are kept
		batchOf(t, d, 1, l)
		runOf(t, d)
	}
}

// Buffers that are V wide are shared by all sizes and grow with them.
func TestWideBuffersGrow(t *testing.T) {
	const v, l = 17, 9
	rng := rand.New(rand.NewPCG(6, 6))
	table := tableOf(l, v, rng)
	head := sampling.Head{Draw: sampling.DrawGumbel, Needs: sampling.Needs{Logits: true, TopK: 2}}
	d := open(t, onnx.Model{Name: "table", Data: tableModel(table, v)}, onnx.Options{}, head)
	for _, b := range []int{1, 3, 2, 40, 1} {
		checkHead(t, d, head, table, b, l, v, func(int) sampling.Params { return sampling.Params{Temperature: 1, TopP: 1} }, rng)
		if got := runOf(t, d).Logits; len(got) != b*l*v || !same(got[len(got)-1], table[len(table)-1], 0) {
			t.Errorf("batch %d: %d logits", b, len(got))
		}
	}
}

func TestAllocationsDoNotGrowWithV(t *testing.T) {
	count := func(v int) float64 {
		d := open(t, onnx.Model{Name: "embed", Data: embedModel(20, 4, v)}, onnx.Options{Threads: 1}, sampling.Head{Needs: allNeeds})
		batchOf(t, d, 2, 4)
		return testing.AllocsPerRun(20, func() { runOf(t, d) })
	}
	small, large := count(17), count(50_000)
	if small != large || small > 12 {
		t.Errorf("%g allocations a run at V 17, %g at V 50,000; want the same few", small, large)
	}
}

// endless adds a loop of 2^50 rounds to a model when a token is not 0.
func endless(m *graph.Model) {
	g := m.Graph
	g.Nodes[0].Outputs[0] = "plain"
	g.Initializers = append(g.Initializers, graph.OfInts("rounds", nil, []int64{1 << 50}), graph.OfFloats("start", nil, []float32{0}), graph.OfFloats("nothing", nil, []float32{0}))
	body := &graph.Graph{Name: "body",
		Nodes:        []*graph.Node{{Op: "Identity", Inputs: []string{"go"}, Outputs: []string{"on"}}, {Op: "Add", Inputs: []string{"x", "step"}, Outputs: []string{"y"}}},
		Initializers: []*graph.Tensor{graph.OfFloats("step", nil, []float32{1})},
		Inputs:       []*graph.ValueInfo{tensor("round", graph.Int64), tensor("go", graph.Bool), tensor("x", graph.Float32)},
		Outputs:      []*graph.ValueInfo{tensor("on", graph.Bool), tensor("y", graph.Float32)}}
	g.Nodes = append(g.Nodes,
		&graph.Node{Op: "ReduceMax", Inputs: []string{"input_ids"}, Outputs: []string{"most"}, Attributes: []*graph.Attribute{graph.Int("keepdims", 0)}},
		&graph.Node{Op: "Mul", Inputs: []string{"most", "rounds"}, Outputs: []string{"trips"}},
		&graph.Node{Op: "Loop", Inputs: []string{"trips", "", "start"}, Outputs: []string{"end"}, Attributes: []*graph.Attribute{{Name: "body", Kind: graph.KindGraph, G: body}}},
		&graph.Node{Op: "Mul", Inputs: []string{"end", "nothing"}, Outputs: []string{"zero"}},
		&graph.Node{Op: "Add", Inputs: []string{"plain", "zero"}, Outputs: []string{"logits"}})
}

// A pass that would take years ends with its context, and the denoiser lives on. (Without the cancel the test hangs.)
func TestCancelInMidRun(t *testing.T) {
	const v, l = 5, 3
	d := open(t, onnx.Model{Name: "endless", Data: tableModel(make([]float32, l*v), v, endless)}, onnx.Options{}, sampling.Head{Needs: allNeeds})
	batch := batchOf(t, d, 1, l)
	runOf(t, d)
	batch.Tokens[0] = 1
	for _, end := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		},
		func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := end()
		_, err := d.Run(ctx)
		if err == nil || !errors.Is(err, ctx.Err()) {
			t.Errorf("got %v, want %v", err, ctx.Err())
		}
		cancel()
	}
	batch.Tokens[0] = 0
	runOf(t, d)

	batch.Tokens[0] = 1
	done := make(chan error)
	go func() { _, err := d.Run(context.Background()); done <- err }()
	time.Sleep(20 * time.Millisecond)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a run during Close: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a run after Close: %v", err)
	}
}

func TestNeedsAreRefusedByName(t *testing.T) {
	for name, needs := range map[string]sampling.Needs{
		"planner_score": {PlannerScore: true}, "insertion_rate": {InsertionRate: true}, "unmask_rate": {UnmaskRate: true},
		"frozen_gap": {FrozenGap: true}, "logp_leave_one_out": {LogpLeaveOneOut: true}, "topk(31)": {TopK: 31}, "vocab_dot": {VocabDot: [][]float32{{1}}},
	} {
		d, err := onnx.Open(t.Context(), onnx.Model{Name: "embed", Data: embedModel(20, 8, 30)}, onnx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Configure(t.Context(), sampling.Head{Needs: needs}); err == nil || !strings.Contains(err.Error(), "needs "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	table := []float32{1, 2, 3, 4, 5, 6}
	weights := graph.OfFloats("", nil, table).Raw
	external := func(location string, more ...graph.Entry) func(*graph.Model) {
		return func(m *graph.Model) {
			w := m.Graph.Initializers[0]
			w.Raw, w.External = nil, append([]graph.Entry{{Key: "location", Value: location}}, more...)
		}
	}
	write := func(path string, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inside := filepath.Join(dir, "model")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(inside, "w.bin"), append([]byte("junk"), weights...))
	write(filepath.Join(dir, "secret"), weights)
	if err := os.Symlink("../secret", filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		location string
		more     []graph.Entry
		want     string
	}{
		{"w.bin", []graph.Entry{{Key: "offset", Value: "4"}, {Key: "length", Value: "24"}}, ""},
		{"../secret", nil, "outside the model's folder"},
		{filepath.Join(dir, "secret"), nil, "outside the model's folder"},
		{"link", nil, "outside the model's folder"},
		{"gone.bin", nil, "missing"},
		{"w.bin", []graph.Entry{{Key: "offset", Value: "8"}, {Key: "length", Value: "24"}}, "truncated"},
		{"w.bin", []graph.Entry{{Key: "offset", Value: "-1"}}, "expected a number"},
	} {
		path := filepath.Join(inside, "model.onnx")
		write(path, tableModel(table, 3, external(c.location, c.more...)))
		d, err := onnx.Open(t.Context(), onnx.Model{Path: path}, onnx.Options{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v: got %v, want %q", c.location, c.more, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Configure(t.Context(), sampling.Head{}); err != nil {
			t.Fatal(err)
		}
		batchOf(t, d, 1, 2)
		if d := cmp.Diff([]int32{2, 2}, runOf(t, d).Proposal); d != "" {
			t.Error(d)
		}
	}
}
