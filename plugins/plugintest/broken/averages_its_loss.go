package main

import "github.com/mdmhost/mdmhost/framework/graph"

// averagesItsLoss gives one number where each row has one.
func averagesItsLoss() {
	trains(func(g *graph.Builder, loss graph.Value) graph.Value { return g.ReduceMean(loss, false) })
}
