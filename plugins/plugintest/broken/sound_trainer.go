package main

import "github.com/mdmhost/mdmhost/framework/graph"

// soundTrainer is in order.
func soundTrainer() { trains(func(_ *graph.Builder, loss graph.Value) graph.Value { return loss }) }
