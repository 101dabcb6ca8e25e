package main

import "github.com/mdmhost/mdmhost/framework/graph"

// stopsGradients stops the gradient of the whole loss.
func stopsGradients() {
	trains(func(g *graph.Builder, loss graph.Value) graph.Value { return g.StopGradient(loss) })
}
