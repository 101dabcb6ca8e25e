package main

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// trains serves a trainer whose loss is bent.
func trains(bend func(g *graph.Builder, loss graph.Value) graph.Value) {
	sdk.ServeTrainer("broken", func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
		t := in.Time(trainer.SharedOffset, 1e-4)
		masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t)) // [B, L]
		out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())))
		nll := g.CrossEntropy(out["logits"], in.Tokens()) // [B, L]
		return trainer.PerRow(bend(g, g.RowSum(g.Keep(masked, nll))))
	}, sdk.Version("0.1.0"), sdk.Summary("a fixture"))
}
