package main

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

func unbent(_ *graph.Builder, loss graph.Value) graph.Value { return loss }

// ignoresFree masks the prompt and the padding, too.
func ignoresFree() {
	shows(func(g *graph.Builder, in trainer.Inputs, drawn graph.Value) (masked, ids graph.Value) {
		return drawn, g.Select(drawn, in.MaskID(), in.Tokens())
	}, unbent)
}

// showsCleanTokens gives the network what it is to guess.
func showsCleanTokens() {
	shows(func(g *graph.Builder, in trainer.Inputs, drawn graph.Value) (masked, ids graph.Value) {
		return g.And(in.Free(), drawn), in.Tokens()
	}, unbent)
}
