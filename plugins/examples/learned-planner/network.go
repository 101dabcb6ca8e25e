package main

import (
	_ "embed"
	"encoding/json"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// weights is what plugins/python/examples/learned/train.py wrote.
//
//go:embed weights.json
var weights []byte

// Network says how far to trust the host's proposal at a position: features, hidden units with ReLU, one logit.
type Network struct {
	W1 [][]float64 `json:"w1"` // [hidden, features]
	B1 []float64   `json:"b1"` // [hidden]
	W2 []float64   `json:"w2"` // [hidden]
	B2 float64     `json:"b2"`
}

// Trained returns the network of the file.
func Trained() (n Network, err error) { return n, json.Unmarshal(weights, &n) }

// Trust is the logit of "the proposal is right". Sums run in the order of the weights and products are rounded before they
// are added (the conversions forbid the compiler to fuse them), so that the Python planner computes the same bits.
func (n *Network) Trust(x []float64) float64 {
	z := n.B2
	for j, w := range n.W1 {
		h := n.B1[j]
		for i, x := range x {
			h += float64(w[i] * x)
		}
		z += float64(n.W2[j] * max(h, 0))
	}
	return z
}

// features appends what the network sees of a position; weights.json has their names. masks counts the row's masked positions.
func features(x []float64, r sdk.Row, i, masks int) []float64 {
	p1, p2 := float64(r.P1[i]), float64(r.P2[i])
	return append(x, p1, p1-p2, float64(r.Entropy[i]), float64(r.LogpProposal[i]),
		float64(masks)/float64(len(r.Token)), float64(masks)/float64(max(r.Blanks, 1)), masked(r, i-1), masked(r, i+1))
}

// masked is 1 where position i of the window is there and masked.
func masked(r sdk.Row, i int) float64 {
	if i < 0 || i >= len(r.Flags) || r.Flags[i]&sampling.Masked == 0 {
		return 0
	}
	return 1
}
