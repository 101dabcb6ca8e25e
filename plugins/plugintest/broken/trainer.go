package main

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// trains serves a trainer whose loss is bent.
func trains(bend func(g *graph.Builder, loss graph.Value) graph.Value) {
	shows(func(g *graph.Builder, in trainer.Inputs, drawn graph.Value) (masked, ids graph.Value) {
		masked = g.And(in.Free(), drawn)
		return masked, g.Select(masked, in.MaskID(), in.Tokens())
	}, bend)
}

// shows serves a trainer that masks in a way of its own: positions [B, L] that were drawn become those that are scored, and what the
// network is given.
func shows(mask func(g *graph.Builder, in trainer.Inputs, drawn graph.Value) (masked, ids graph.Value), bend func(g *graph.Builder, loss graph.Value) graph.Value) {
	sdk.ServeTrainer("broken", func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
		t := in.Time(trainer.SharedOffset, 1e-4)
		masked, ids := mask(g, in, g.Less(in.Uniform("u", "B", "L"), t)) // [B, L]
		out := in.Network("denoiser", trainer.IDs(ids))
		nll := g.CrossEntropy(out["logits"], in.Tokens()) // [B, L]
		return trainer.PerRow(bend(g, g.RowSum(g.Keep(masked, nll))))
	}, sdk.Version("0.1.0"), sdk.Summary("a fixture"))
}
