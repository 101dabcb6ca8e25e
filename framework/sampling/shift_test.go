package sampling_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestShift(t *testing.T) {
	for name, c := range map[string]struct {
		l        int
		deleted  []int32
		inserted []sampling.Insertion
		want     sampling.Shift
	}{
		"nothing":  {2, nil, nil, sampling.Shift{To: []int32{0, 1}, Len: 2}},
		"empty":    {0, nil, []sampling.Insertion{{Gap: 0, Count: 2}}, sampling.Shift{To: []int32{}, New: []int32{0, 1}, Len: 2}},
		"each gap": {2, nil, []sampling.Insertion{{Gap: 2, Count: 1}, {Gap: 0, Count: 2}, {Gap: 1, Count: 1}}, sampling.Shift{To: []int32{2, 4}, New: []int32{0, 1, 3, 5}, Len: 6}},
		"twice":    {1, nil, []sampling.Insertion{{Gap: 1, Count: 1}, {Gap: 1, Count: 2}}, sampling.Shift{To: []int32{0}, New: []int32{1, 2, 3}, Len: 4}},
		"deleted":  {3, []int32{1}, []sampling.Insertion{{Gap: 1, Count: 1}}, sampling.Shift{To: []int32{0, -1, 2}, New: []int32{1}, Len: 3}}, // between the two that stay
		"all left": {2, []int32{1, 0}, nil, sampling.Shift{To: []int32{-1, -1}}},
	} {
		if diff := cmp.Diff(c.want, sampling.NewShift(c.l, c.deleted, c.inserted)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Whatever leaves and comes: what stays keeps its order, and every place of the row after is taken once.
func TestShiftProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := rapid.SliceOfN(rapid.Int32Range(1, 100), 0, 12).Draw(rt, "row")
		deleted := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(max(len(row)-1, 0))), 0, len(row), rapid.ID[int32]).Draw(rt, "deleted")
		gaps := rapid.SliceOfN(rapid.Int32Range(0, int32(len(row)-len(deleted))), 0, 4).Draw(rt, "gaps")
		var inserted []sampling.Insertion
		var kept []int32
		for p, token := range row {
			if !slices.Contains(deleted, int32(p)) {
				kept = append(kept, token)
			}
		}
		var want []int32 // by the definition: gap by gap
		for g := range len(kept) + 1 {
			for _, gap := range gaps {
				if int(gap) == g {
					want = append(want, 0)
				}
			}
			if g < len(kept) {
				want = append(want, kept[g])
			}
		}
		for _, gap := range gaps {
			inserted = append(inserted, sampling.Insertion{Gap: gap, Count: 1})
		}
		s := sampling.NewShift(len(row), deleted, inserted)
		if diff := cmp.Diff(append([]int32{}, want...), sampling.Shifted(s, row, 0)); diff != "" {
			rt.Fatal(diff)
		}
		if len(s.New) != len(gaps) {
			rt.Fatalf("%d new masks of %d", len(s.New), len(gaps))
		}
	})
}

// A row of an insertion model: two masks come, one is opened while another comes before it, one is dropped. Positions are those of
// the row before the step, and what a step opened is found where it stands after it.
func TestTraceOfGrowth(t *testing.T) {
	var b bytes.Buffer
	mask := int32(8)
	tr := sampling.NewTrace(&b, sampling.TraceHeader{MaskID: &mask, Growth: &sampling.Growth{Gap: sampling.GapEOS, Cap: 6, A: 2}})
	tr.Admitted(sampling.Frame{Index: 0, Steps: 4, Tokens: []int32{1}, Flags: []sampling.Flags{given}})
	tr.Stepped(sampling.Frame{Step: 0, NFE: 1, Tokens: []int32{8, 8, 1}, Flags: []sampling.Flags{blank, blank, given}, Guess: []int32{-1}, Inserted: []sampling.Insertion{{Gap: 0, Count: 2}}})
	tr.Stepped(sampling.Frame{Step: 1, NFE: 2, Tokens: []int32{8, 8, 5, 1}, Flags: []sampling.Flags{blank, blank, 0, given}, Guess: []int32{3, 5, -1}, Entropy: []float32{2, 1, 0},
		Logp: []float32{0, 0, -0.5, 0}, Opened: []int32{1}, Inserted: []sampling.Insertion{{Gap: 0, Count: 1}}})
	// The proposal of the mask that was shifted is the same as before: it is not said again. What is dropped is neither opened nor guessed.
	tr.Stepped(sampling.Frame{Step: 2, NFE: 3, Tokens: []int32{8, 5, 1}, Flags: []sampling.Flags{blank, 0, given}, Guess: []int32{4, 3, -1, -1}, Entropy: []float32{2, 2, 0, 0},
		Logp: []float32{0, -0.5, 0}, Opened: []int32{0}, Deleted: []int32{0}})
	tr.Finished(sampling.Result{Tokens: []int32{8, 5, 1}, Finish: sampling.FinishCancelled, NFE: 3, Steps: 3, Capped: 1})
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `{"trace":2,"seed":0,"model":"","sampler":"","planner":"","mask_id":8,"growth":{"gap":"eos","cap":6,"a":2}}
{"event":"row","row":0,"step":0,"nfe":0,"tokens":[1]}
{"event":"step","row":0,"step":0,"nfe":1,"inserted":[[0,2]]}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[1,5]],"inserted":[[0,1]],"logp":[-0.5],"entropies":[1],"entropy":1.5,"guess":[[0,3]]}
{"event":"step","row":0,"step":2,"nfe":3,"deleted":[0],"entropy":2}
{"event":"end","row":0,"step":3,"nfe":3,"tokens":[8,5,1],"capped":1,"finish":"cancelled"}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
