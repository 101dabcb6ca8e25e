package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model"
)

func TestEnds(t *testing.T) {
	m := &model.Model{V: 10, Config: &model.Config{Raw: map[string]any{"eos_token_id": 7.0, "eot_token_id": nil}},
		Generation: map[string]any{"eos_token_id": []any{3.0, 7.0, 99.0, -1.0, 1.5, "x"}}}
	for key, want := range map[string][]int32{"eos_token_id": {3, 7}, "eot_token_id": nil, "bos_token_id": nil} {
		if diff := cmp.Diff(want, m.Ends(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}
