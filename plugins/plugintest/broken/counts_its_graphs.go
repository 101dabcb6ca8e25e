package main

import "github.com/mdmhost/mdmhost/framework/graph"

// countsItsGraphs puts a number into its graph that counts on.
func countsItsGraphs() {
	built := 0
	trains(func(g *graph.Builder, loss graph.Value) graph.Value {
		built++
		return g.Add(loss, g.Float(float64(built)))
	})
}
