package onnx

import (
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
)

// What [WithStatistics] adds to a model, with names that every host can write in its own language.
const (
	Temperature = forward.Temperature // input float32 [B]: 0 takes the most probable token
	Uniform     = forward.Uniform     // input float32 [B, L] in (0, 1): where the draw falls in the order of the ids, read where temperature is above 0

	Proposal     = forward.Proposal     // output int64 [B, L]: the token drawn; below 0 where the logits are no distribution
	LogpProposal = forward.LogpProposal // output float32 [B, L], in nats, as are all logarithms
	P1           = forward.P1           // output float32 [B, L]: the largest probability
	P2           = forward.P2           // output float32 [B, L]: the second largest
	Entropy      = forward.Entropy      // output float32 [B, L]
	LogpCurrent  = forward.LogpCurrent  // output float32 [B, L]: of the token that stands at the position; 0 at suppressed ones
)

// WithStatistics returns the model with a statistics head written with stock operators, for hosts that have none: the head of
// [HeadGraph], opened to them. Statistics are of the model's distribution after suppression, as sampling.Compute has them; the draw is by
// the inverse of the distribution function at the temperature. The model's own inputs and outputs stay, and m does too. m.Graph must
// hold its data itself. The error names what the head cannot stand on.
func WithStatistics(m *graph.Model, name string, v, logitsShift int, suppress []int32) (*graph.Model, error) {
	return forward.WithStatistics(m, name, v, logitsShift, suppress)
}
