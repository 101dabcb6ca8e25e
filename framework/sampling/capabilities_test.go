package sampling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestMissing(t *testing.T) {
	caps := sampling.Capabilities{Serves: sampling.Needs{Proposal: true, P1: true, Entropy: sampling.OnModel, TopK: 10, KLPrev: true}, VocabDots: 1}
	for _, c := range []struct {
		needs sampling.Needs
		want  []string
	}{
		{sampling.Needs{P1: true, Entropy: sampling.OnSampling, Uniform: true, Gumbel: true, TopK: 10}, []string{}},
		{sampling.Needs{P2: true, KLPrev: true, TopK: 11}, []string{"p2", "kl_prev", "topk(11)"}},
		{sampling.Needs{VocabDot: [][]float32{{1}, {2}}, PlannerScore: true}, []string{"planner_score", "vocab_dot(2)"}},
		{sampling.Needs{VocabDot: [][]float32{{1}}, Logits: true}, []string{"logits"}},
	} {
		if d := cmp.Diff(c.want, caps.Missing(c.needs)); d != "" {
			t.Errorf("needs %s: %s", c.needs, d)
		}
	}
}
