package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Every misfit is told by name, before anything runs.
func TestProgramErrors(t *testing.T) {
	d, other := device(t, onnx.Options{}), device(t, onnx.Options{})
	state := func(d *onnx.Device, typ graph.Type, dims ...int64) *onnx.State {
		return must[*onnx.State](t)(d.NewState("x", typ, dims...))
	}
	good := state(d, graph.Float32, 3)
	transient := must[*onnx.State](t)(d.NewTransient("g", graph.Float32, 3))
	closed := state(d, graph.Float32, 3)
	if err := errors.Join(closed.Close(), closed.Close()); err != nil {
		t.Fatal(err)
	}
	bind := func(in, out string, s *onnx.State) func(*onnx.ProgramOptions) {
		return func(o *onnx.ProgramOptions) { o.States[0] = onnx.StateBinding{Input: in, Output: out, State: s} }
	}
	also := func(in, out string, s *onnx.State) func(*onnx.ProgramOptions) {
		return func(o *onnx.ProgramOptions) {
			o.States = append(o.States, onnx.StateBinding{Input: in, Output: out, State: s})
		}
	}
	for want, change := range map[string]func(*onnx.ProgramOptions){
		`has no input "y" for state x`:                                 bind("y", "next", good),
		`has no output "nxet" for state x: did you mean "next"?`:       bind("x", "nxet", good),
		`float32 [n] does not fit state x int64 [3]`:                   bind("x", "next", state(d, graph.Int64, 3)),
		`float32 [n] does not fit state x float32 [3 1]`:               bind("x", "next", state(d, graph.Float32, 3, 1)),
		`[b, n] does not fit state x float32 [5 3]: b is 2 by Dims`:    also("batch", "", state(d, graph.Float32, 5, 3)),
		`[b, n] does not fit state x float32 [2 4]: n is 3 by state x`: also("batch", "", state(d, graph.Float32, 2, 4)),
		`is of another device`:                                         bind("x", "next", state(other, graph.Float32, 3)),
		`state x: it was closed`:                                       bind("x", "next", closed),
		`binding 0 (input "x", output "next") has no state`:            bind("x", "next", nil),
		`names neither an input nor an output`:                         bind("", "", good),
		`state g is read by input "x" and written by output "next"`:    bind("x", "next", transient),
		`input "x" is bound to state x and to state g`:                 also("x", "", transient),
		`output "next" is bound to state x and to state g`:             also("", "next", transient),
		`has no output "totla": did you mean "total"?`:                 func(o *onnx.ProgramOptions) { o.Outputs[0] = "totla" },
		`output "next" is bound to state x and cannot come back`:       func(o *onnx.ProgramOptions) { o.Outputs[0] = "next" },
		`input "batch" [b, n]: dimension b has no value`:               func(o *onnx.ProgramOptions) { o.Dims = nil },
		`gives nothing`: func(o *onnx.ProgramOptions) { o.States[0].Output, o.Outputs = "", nil },
		`shape [9223372036854775807 3] is not one`: func(o *onnx.ProgramOptions) { o.Dims["b"] = 1<<63 - 1 },
	} {
		o := bindAccumulate(good)
		change(&o)
		_, err := d.NewProgram(t.Context(), accumulate(), o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "model accumulate: ") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	one := []*graph.ValueInfo{floats("x", n)}
	for want, m := range map[string]onnx.Model{
		`output "y" holds int64, expected float32`:                    model("m", []*graph.Node{node("Cast", []string{"x"}, []string{"y"}, graph.Int("to", 7))}, one, []*graph.ValueInfo{tensor("y", graph.Int64, n)}),
		`output "y" [?]: dimension 0 is unknown`:                      model("m", []*graph.Node{node("Neg", []string{"x"}, []string{"y"})}, one, []*graph.ValueInfo{floats("y", graph.Dim{Size: -1})}),
		`output "y" has no shape in the graph`:                        model("m", []*graph.Node{node("Neg", []string{"x"}, []string{"y"})}, one, []*graph.ValueInfo{{Name: "y", Type: graph.Float32}}),
		`input "x" holds string`:                                      model("m", []*graph.Node{node("Neg", []string{"x"}, []string{"y"})}, []*graph.ValueInfo{tensor("x", graph.Text, n)}, []*graph.ValueInfo{floats("y", n)}),
		"ONNX Runtime " + onnx.Version + " refuses it (provider cpu)": model("m", []*graph.Node{node("Nge", []string{"x"}, []string{"y"})}, one, []*graph.ValueInfo{floats("y", n)}),
		"no graph": {Name: "m", Data: (&graph.Model{IRVersion: 8}).Encode()},
		"damaged":  {Name: "m", Data: []byte("junk")},
		"neither":  {Name: "m"},
	} {
		_, err := d.NewProgram(t.Context(), m, onnx.ProgramOptions{Outputs: []string{"y"}, Dims: map[string]int64{"n": 2}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}

	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), accumulate(), bindAccumulate(good)))
	q := must[*onnx.Program](t)(d.NewProgram(t.Context(), accumulate(), bindAccumulate(good)))
	f := must[*onnx.Feed](t)(p.NewFeed())
	text := func(_ any, err error) string { return fmt.Sprint(err) }
	contains(t, text(f.Float32("btach")), `has no input "btach" to feed: did you mean "batch"?`, "\n  batch float32 [2 3]")
	contains(t, text(f.Int64("batch")), "input batch float32 [2 3] was asked for as int64")
	contains(t, text(f.Float32("x")), "input x float32 [3] is bound to state x and is not fed")
	contains(t, text(p.Output("next")), `output "next" is none of those that come back: `, "total")
	contains(t, fmt.Sprint(p.Run(t.Context(), nil)), "input batch float32 [2 3] is fed, and no feed was given")
	contains(t, fmt.Sprint(q.Run(t.Context(), f)), "the feed is of model accumulate; make one with this program's NewFeed")
	contains(t, fmt.Sprint(good.Write(make([]byte, 11))), "state x float32 [3]: 3 elements are 12 bytes, and 11 were given")
	contains(t, fmt.Sprint(good.ReadFloats(make([]float32, 4))), "3 elements are 12 bytes, and 16 were given")
	contains(t, fmt.Sprint(state(d, graph.Int64, 1).WriteFloats([]float32{1})), "holds int64, and float32 was given")
	contains(t, fmt.Sprint(state(d, graph.Int64, 1).ReadFloats([]float32{1})), "holds int64, and float32 was asked for")
	contains(t, text(d.NewState("s", graph.Text, 1)), "state s: elements string cannot be kept")
	contains(t, text(d.NewState("s", graph.Float32, -1)), "state s: shape [-1] is not one")
	contains(t, text(d.NewState("s", graph.Float32, 1<<44)), "state s: 70368744177664 bytes cannot be had")
	contains(t, text(onnx.OpenDevice(t.Context(), onnx.Options{Provider: "tpu"})), `provider "tpu" is unknown`)
}

// A run that fails in the middle, is cancelled, or never starts leaves the states alone.
func TestFailedRunsLeaveStates(t *testing.T) {
	d := device(t, onnx.Options{})
	table := must[*onnx.State](t)(d.NewState("table", graph.Float32, 4))
	m := model("pick", []*graph.Node{node("Gather", []string{"table", "at"}, []string{"next"}), node("Loop", []string{"rounds", "", "zero"}, []string{"end"},
		&graph.Attribute{Name: "body", Kind: graph.KindGraph, G: &graph.Graph{Name: "body",
			Nodes:        []*graph.Node{node("Identity", []string{"go"}, []string{"on"}), node("Add", []string{"x", "step"}, []string{"y"})},
			Initializers: []*graph.Tensor{graph.OfFloats("step", nil, []float32{1})},
			Inputs:       []*graph.ValueInfo{tensor("round", graph.Int64), tensor("go", graph.Bool), floats("x")},
			Outputs:      []*graph.ValueInfo{tensor("on", graph.Bool), floats("y")}}})},
		[]*graph.ValueInfo{floats("table", n), tensor("at", graph.Int64, n), tensor("rounds", graph.Int64)}, []*graph.ValueInfo{floats("next", n), floats("end")},
		graph.OfFloats("zero", nil, []float32{0}))
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), m, onnx.ProgramOptions{States: []onnx.StateBinding{{Input: "table", Output: "next", State: table}}, Outputs: []string{"end"}}))
	f := must[*onnx.Feed](t)(p.NewFeed())
	at, rounds := must[[]int64](t)(f.Int64("at")), must[[]int64](t)(f.Int64("rounds"))
	want := []float32{5, 6, 7, 8}
	if err := table.WriteFloats(want); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if diff := cmp.Diff(want, readFloats(t, table)); diff != "" {
			t.Error(diff)
		}
	}
	copy(at, []int64{3, 2, 1, 9})
	contains(t, fmt.Sprint(p.Run(t.Context(), f)), "model pick: a run failed", "out of data bounds")
	check()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	copy(at, []int64{3, 2, 1, 0})
	if err := p.Run(ctx, f); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	check()

	rounds[0] = 1 << 50
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	if err := p.Run(ctx, f); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	cancel()
	check()

	rounds[0] = 3
	slices.Reverse(want)
	if err := p.Run(t.Context(), f); err != nil {
		t.Error(err)
	}
	check()
	if diff := cmp.Diff([]float32{3}, must[[]float32](t)(p.Output("end"))); diff != "" {
		t.Error(diff)
	}

	// The device ends a run that is on its way.
	rounds[0] = 1 << 50
	done := make(chan error)
	go func() { done <- p.Run(context.Background(), f) }()
	time.Sleep(20 * time.Millisecond)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	contains(t, fmt.Sprint(<-done), "closed")
}

func TestClosingOrder(t *testing.T) {
	d := device(t, onnx.Options{})
	x := must[*onnx.State](t)(d.NewState("x", graph.Float32, 3))
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), accumulate(), bindAccumulate(x)))
	f, g := must[*onnx.Feed](t)(p.NewFeed()), must[*onnx.Feed](t)(p.NewFeed())
	text := func(_ any, err error) string { return fmt.Sprint(err) }
	closeTwice := func(close func() error) {
		t.Helper()
		if err := errors.Join(close(), close()); err != nil {
			t.Error(err)
		}
	}
	closeTwice(f.Close)
	contains(t, fmt.Sprint(p.Run(t.Context(), f)), "the feed was closed")
	contains(t, text(f.Float32("batch")), "the feed was closed")
	closeTwice(x.Close)
	contains(t, fmt.Sprint(p.Run(t.Context(), g)), "state x: it was closed")
	contains(t, fmt.Sprint(x.WriteFloats(make([]float32, 3))), "state x: it was closed")
	closeTwice(p.Close)
	contains(t, fmt.Sprint(p.Run(t.Context(), g)), "model accumulate: it was closed")
	contains(t, text(g.Float32("batch")), "model accumulate: it was closed")
	contains(t, text(p.NewFeed()), "model accumulate: it was closed")
	contains(t, text(p.Output("total")), "model accumulate: it was closed")
	closeTwice(d.Close)
	closeTwice(p.Close)
	closeTwice(g.Close)
	closeTwice(x.Close)
	contains(t, text(d.NewState("y", graph.Float32)), "state y: its device was closed")
	contains(t, text(d.NewProgram(t.Context(), accumulate(), onnx.ProgramOptions{Outputs: []string{"total"}, Dims: map[string]int64{"b": 1, "n": 1}})), "model accumulate: its device was closed")
}
