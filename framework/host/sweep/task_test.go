package sweep

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// A model that inserts tokens is not told how many are missing, and every token too many or too few counts as wrong.
func TestGrownRows(t *testing.T) {
	const mask, end = 0, 9
	for name, c := range map[string]struct {
		answer    []int32
		given     string // "x" where a position is
		asked     []int32
		got       []int32
		right, of int
	}{
		"all right":         {answer: []int32{5, 6, 7, 8, end}, given: "xx..x", asked: []int32{5, 6, mask, end}, got: []int32{5, 6, 7, 8, end}, right: 2, of: 2},
		"one more":          {answer: []int32{5, 6, 7, 8, end}, given: "xx..x", asked: []int32{5, 6, mask, end}, got: []int32{5, 6, 7, 7, 8, end}, right: 1, of: 3},
		"one less":          {answer: []int32{5, 6, 7, 8, end}, given: "xx..x", asked: []int32{5, 6, mask, end}, got: []int32{5, 6, 7, end}, right: 1, of: 2},
		"two places":        {answer: []int32{1, 2, 3, 4, 5, end}, given: "x.x..x", asked: []int32{1, mask, 3, mask, end}, got: []int32{1, 2, 3, 4, 5, end}, right: 4, of: 4},
		"nothing":           {answer: []int32{5, end}, given: "xx", asked: []int32{5, mask, end}, got: []int32{5, end}},
		"nothing was right": {answer: []int32{5, end}, given: "xx", asked: []int32{5, mask, end}, got: []int32{5, 6, end}, of: 1},
	} {
		a := train.Answered{Tokens: c.answer}
		for _, r := range c.given {
			a.Fixed = append(a.Fixed, r == 'x')
		}
		tokens, _ := a.Asked(mask)
		asked, b := places(tokens, mask, 1)
		if !slices.Equal(asked, c.asked) {
			t.Errorf("%s: asked %v, want %v", name, asked, c.asked)
		}
		task := &task{model: &model.Model{Manifest: &model.Manifest{Family: "insertion"}}, answers: []train.Answered{a}, blanks: []blanks{b}}
		if right, of := task.right(sampling.Result{Tokens: c.got}); right != c.right || of != c.of {
			t.Errorf("%s: %d right of %d, want %d of %d", name, right, of, c.right, c.of)
		}
		want := map[string]float64{"exact": 1, "tokens": 1}
		if c.right < c.of {
			want = map[string]float64{"exact": 0, "tokens": float64(c.right) / float64(c.of)}
		}
		if diff := cmp.Diff(want, task.metrics(sampling.Result{Tokens: c.got})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if right, of := task.right(sampling.Result{}); right != 0 || of != b.count {
			t.Errorf("%s, a row that is not there: %d right of %d, want 0 of %d", name, right, of, b.count)
		}
	}
}
