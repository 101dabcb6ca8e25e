package supervise_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// wide is a step of 8 rows of 256 positions with one float32 column.
func wide() *sampling.Step {
	r := rand.New(rand.NewPCG(1, 2))
	s := &sampling.Step{Run: "bench"}
	for i := range 8 {
		row := sampling.Row{Index: int64(i), Slot: i, Step: 1, Steps: 64, Token: make([]int32, 256), Flags: make([]sampling.Flags, 256), Entropy: make([]float32, 256)}
		for p := range row.Flags {
			row.Flags[p], row.Entropy[p] = eligible, r.Float32()
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

func BenchmarkPlanInProcess(b *testing.B) { benchmarkPlan(b, calm()) }

func BenchmarkPlanPlugin(b *testing.B) {
	p, err := supervise.Launch(context.Background(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	benchmarkPlan(b, p.Planner())
}

func benchmarkPlan(b *testing.B, p sampling.Planner) {
	ctx := context.Background()
	if _, err := p.Start(ctx, sampling.Run{Options: []byte(`{"k": 4}`)}); err != nil {
		b.Fatal(err)
	}
	s, out := wide(), make([]sampling.Decision, 8)
	b.ReportAllocs()
	for b.Loop() {
		for i := range out {
			out[i].Reset()
		}
		if err := p.Plan(ctx, s, out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch is the time from nothing to a described plugin, and its end.
func BenchmarkLaunch(b *testing.B) {
	for b.Loop() {
		p, err := supervise.Launch(context.Background(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm"})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
