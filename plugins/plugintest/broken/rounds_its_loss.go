package main

import "github.com/mdmhost/mdmhost/framework/graph"

// roundsItsLoss rounds its loss, which then has no slope anywhere.
func roundsItsLoss() {
	trains(func(g *graph.Builder, loss graph.Value) graph.Value { return g.Floor(loss) })
}
