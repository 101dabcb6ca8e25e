package openvino_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

var allNeeds = sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true, TopK: 2}

// states fills a batch with rows that are half masked, at several temperatures, some of them shorter than the batch.
func states(b *sampling.Batch, seed uint64, m openvino.Model) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range b.Tokens {
		b.Tokens[i], b.Uniform[i] = int64(m.MaskID), rng.Float64()
		if rng.IntN(8) == 0 {
			b.Tokens[i] = int64(rng.IntN(m.V))
		}
		if row := i / b.L; row%3 == 2 && i%b.L > b.L/2 && b.L > 4 {
			b.Tokens[i], b.Attention[i], b.Active[i] = int64(m.PadID), 0, 0
		}
	}
	for i := range b.Params {
		b.Params[i].Temperature = float32(i) / 2
	}
	for i := range b.Time {
		b.Time[i] = 0.3
	}
}

// agreement counts what differs of two runtimes' statistics of one batch.
type agreement struct {
	tokens, differ int
	worst          float64 // of log-probabilities and entropies, in nats
}

func (a *agreement) add(t *testing.T, b *sampling.Batch, got, want *sampling.Statistics) {
	t.Helper()
	for i, active := range b.Active {
		if active == 0 {
			continue
		}
		a.tokens++
		if got.Proposal[i] != want.Proposal[i] {
			a.differ++
			continue
		}
		for _, s := range [][2][]float32{{got.LogpProposal, want.LogpProposal}, {got.Entropy, want.Entropy}, {got.P1, want.P1}, {got.P2, want.P2}, {got.LogpCurrent, want.LogpCurrent}} {
			a.worst = max(a.worst, math.Abs(float64(s[0][i]-s[1][i])))
		}
		for j := range got.TopIDs[2*i : 2*i+2] {
			if d := math.Abs(float64(got.TopLogp[2*i+j] - want.TopLogp[2*i+j])); d > 1e-3 {
				t.Errorf("position %d: candidate %d has %g nats, expected %g", i, j, got.TopLogp[2*i+j], want.TopLogp[2*i+j])
			}
		}
	}
}

// TestAgrees holds both heads on OpenVINO against ONNX Runtime, on every model of this program. The heads' own draws are made in float32 on
// the device and in float64 in Go, so that those of the graph may differ where the noise comes near a boundary. With -short, as in CI, the graph's is
// tried on one model.
func TestAgrees(t *testing.T) {
	for _, name := range []string{"sudoku", "text", "maze", "molecule", "stars", "molecule-insertion", "rxnmapper-albert"} {
		t.Run(name, func(t *testing.T) {
			needOpenVINO(t)
			m, manifest := embedded(t, name)
			head := sampling.Head{Needs: allNeeds, Suppress: manifest.Suppress()}
			head.Needs.InsertionRate = manifest.Signature.InsertionRate
			head.Needs.UnmaskRate = manifest.Signature.UnmaskRate
			reference, err := onnx.Open(t.Context(), m, onnx.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			if err := reference.Configure(t.Context(), head); err != nil {
				t.Fatal(err)
			}
			modes := []string{openvino.HeadGo, openvino.HeadGraph}
			if testing.Short() && name != "sudoku" {
				modes = modes[:1]
			}
			for _, mode := range modes {
				d := open(t, m, openvino.Options{Threads: 1, Head: mode}, head)
				if caps, want := d.Capabilities(), reference.Capabilities(); caps.Serves.String() != want.Serves.String() || caps.Padding != want.Padding || caps.V != want.V || caps.Runtime != "openvino" || caps.Provider != "cpu" {
					t.Errorf("capabilities %+v, expected those of onnx: %+v", caps, want)
				}
				var sum agreement
				for pass, l := range []int{24, 40, 24} { // the tensors of a size are bound anew, and those of one before
					if manifest.MaxLength > 0 {
						l = min(l, manifest.MaxLength)
					}
					a, b := batchOf(t, reference, 4, l), batchOf(t, d, 4, l)
					states(a, uint64(pass), m)
					states(b, uint64(pass), m)
					want, got := runOf(t, reference), runOf(t, d)
					sum.add(t, a, got, want)
					for _, rates := range [][2][]float32{{got.InsertionRate, want.InsertionRate}, {got.UnmaskRate, want.UnmaskRate}} {
						if len(rates[0]) != len(rates[1]) {
							t.Fatalf("%d rates, expected %d", len(rates[0]), len(rates[1]))
						}
						for i, r := range rates[0] {
							if math.Abs(float64(r-rates[1][i])) > 1e-3*max(1, math.Abs(float64(rates[1][i]))) && a.Attention[min(i, len(a.Attention)-1)] == 1 {
								t.Errorf("rate %d: %g, expected %g", i, r, rates[1][i])
							}
						}
					}
				}
				t.Logf("%s: %d of %d proposals differ, largest difference %.2g", mode, sum.differ, sum.tokens, sum.worst)
				if sum.worst > 1e-4 || sum.differ > sum.tokens/200 || mode == openvino.HeadGo && sum.differ > 1 {
					t.Errorf("head %s: %+v", mode, sum)
				}
			}
		})
	}
}
