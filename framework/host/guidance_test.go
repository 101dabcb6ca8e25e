package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Guided rows are those of testdata/guided.py, token by token and in its order, but for near-ties.
func TestGuidanceIsPythons(t *testing.T) {
	var golden struct {
		Model  string
		Inputs [][]int32
		Cases  []struct {
			W    float64
			Keep []int32
			Rows []struct {
				Tokens  []int32
				StepMap []int32 `json:"step_map"`
				Margin  float64
			}
		}
	}
	goldenfile.Read(t, "testdata/guided.json.gz", &golden)
	compared := 0
	for _, c := range golden.Cases {
		keep := strings.ReplaceAll(fmt.Sprint(c.Keep), " ", ",")
		settings := []string{"model=" + golden.Model, "sampling.temperature=0", "runtime.threads=1", "batch=4", fmt.Sprintf("sampling.cfg_scale=%g", c.W)}
		if c.W != 0 {
			settings = append(settings, "sampling.cfg_keep_tokens="+keep)
		}
		h := open(t, true, settings...)
		next := 0
		_, err := h.Sample(t.Context(), len(golden.Inputs), func() (r sampling.Request, ok bool) {
			if next == len(golden.Inputs) {
				return r, false
			}
			next++
			return sampling.Request{Index: int64(next - 1), Tokens: golden.Inputs[next-1], Params: sampling.Params{TopP: 1}}, true
		}, func(r sampling.Result) error {
			want, passes := c.Rows[r.Index], 1
			if c.W != 0 {
				passes = 2
			}
			if r.NFE != passes*r.Steps {
				t.Errorf("w %g, row %d: %d forward passes in %d steps", c.W, r.Index, r.NFE, r.Steps)
			}
			if want.Margin < nearTie {
				return r.Err
			}
			compared++
			if !slices.Equal(r.Tokens, want.Tokens) || !slices.Equal(r.StepMap, want.StepMap) {
				t.Errorf("w %g, keep %v, row %d (python, then ours):\n%v\n%v\n%v\n%v", c.W, c.Keep, r.Index, want.Tokens, r.Tokens, want.StepMap, r.StepMap)
			}
			return r.Err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if all := len(golden.Cases) * len(golden.Inputs); compared < all-2 {
		t.Errorf("%d of %d rows were compared, the others have near-ties; expected nearly all", compared, all)
	}
}
