package interpolant

import "github.com/mdmhost/mdmhost/framework/graph"

// Metric is a ratio for the log, float32 [B] both.
type Metric struct {
	Name       string
	Sum, Count graph.Value
}

// Metrics are the bound's parts in nats a row, and how often the likeliest token of a mask is the true one. Rows of padding alone, with
// which the host fills a batch up, are none.
func (t Terms) Metrics(r Rows) []Metric {
	g := r.g
	rows := g.Cast(g.ReduceMax(r.in.AttentionMask(), false, 1), graph.Float32)
	return []Metric{
		{"um_ce", r.Mean(t.CE), rows},
		{"um_kl", r.Mean(t.KL), rows},
		{"in", r.Mean(t.In), rows},
		{"total", r.Mean(t.Total), rows},
		{"accuracy", r.Mean(t.Hits), r.Mean(t.Masks)},
	}
}
