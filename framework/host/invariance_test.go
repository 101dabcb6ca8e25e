package host_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Same seed, same tokens: whatever the batch, the threads and where the plugins run. Rows may differ where two
// statistics nearly tie (margin below 1e-5), because the runtime sums in another order for another batch; with uniforms
// of 53 bits and some 900 draws a setting, two rows in 48 are more than such ties explain.
func TestTokensDependOnSeedAlone(t *testing.T) {
	const rows = 48
	for _, planner := range []string{"random", "confidence", "p2", "eb"} {
		t.Run(planner, func(t *testing.T) {
			var first [][]int32
			var named string
			for _, c := range []struct {
				batch, threads int
				inProcess      bool
			}{{64, 2, false}, {1, 1, true}, {7, 2, true}, {7, 1, false}} {
				name := fmt.Sprintf("batch %d, threads %d, in process %v", c.batch, c.threads, c.inProcess)
				h := open(t, c.inProcess, "model=rxnmapper-albert", "planner="+planner, "seed=31337",
					fmt.Sprintf("batch=%d", c.batch), fmt.Sprintf("runtime.threads=%d", c.threads))
				got := make([][]int32, rows)
				rng, next := rand.New(rand.NewPCG(1, 2)), 0
				_, err := h.Sample(context.Background(), rows, func() (sampling.Request, bool) {
					if next++; next > rows {
						return sampling.Request{}, false
					}
					row, err := h.Model().EncodePrompt("Cc1ccc"[:rng.IntN(7)], 4+rng.IntN(30))
					if err != nil {
						t.Error(err)
					}
					return sampling.Request{Index: int64(next - 1), Tokens: row.Tokens, Fixed: row.Fixed, Steps: 2 + rng.IntN(8),
						Params: sampling.Params{Temperature: 1, TopP: 1}}, true
				}, func(r sampling.Result) error {
					got[r.Index] = slices.Clone(r.Tokens)
					return r.Err
				})
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first, named = got, name
					continue
				}
				different := 0
				for i := range got {
					if !slices.Equal(first[i], got[i]) {
						different++
						t.Logf("row %d differs between %s and %s:\n%v\n%v", i, named, name, first[i], got[i])
					}
				}
				t.Logf("%s: %d of %d rows differ from %s", name, different, rows, named)
				if different > rows/24 {
					t.Errorf("%d of %d rows differ", different, rows)
				}
			}
		})
	}
}
