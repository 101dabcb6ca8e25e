package papl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/papl"
)

// TestAgainstTheReference runs both graphs of every form, the sheet's worked examples (4.9) among them.
func TestAgainstTheReference(t *testing.T) {
	try.Reference(t, "testdata/golden.json.gz", papl.New)
}

// TestAlphaZeroIsThePlainLoss holds the planner's loss at alpha 0, by option and by warm-up, against a loss without a planner: loss
// and gradient, to the bit.
func TestAlphaZeroIsThePlainLoss(t *testing.T) {
	d := try.Device(t)
	plain := sdk.NewTrainer("plain", func(papl.Options, spec.Task) (trainer.Definition, error) {
		return trainer.Definition{Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			c := trainer.ExactCount(g, in, in.Time(trainer.SharedOffset, 0))
			out := in.Network("denoiser", trainer.IDs(g.Select(c.Masked, in.MaskID(), in.Tokens())))
			nll := g.Keep(c.Masked, g.CrossEntropy(out["logits"], in.Tokens()))
			each := g.Unsqueeze(g.Reciprocal(g.Max(c.K, g.Float(1))), 1)
			return trainer.PerRow(g.RowSum(g.Mul(each, nll)))
		}}, nil
	})
	for _, c := range try.Golden(t, "testdata/golden.json.gz") {
		if c.Name != "paper count alpha 0.0" && c.Name != "pelbo count alpha 0.0" {
			continue
		}
		form := c.Name[:5]
		run := func(p spec.Trainer, options string) map[string][]float32 {
			c.Options = []byte(options)
			return c.Run(t, d, c.Build(t, p).Training)
		}
		want := run(plain, `{}`)
		for _, options := range []string{`{"form":"` + form + `","alpha":0}`, `{"form":"` + form + `","alpha":3,"alpha_warmup":0.5}`} {
			got := run(papl.New(), options) // progress is 0
			for _, name := range []string{"loss", "grad"} {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s, %s: %s", options, name, diff)
				}
			}
		}
	}
}

// TestMaskerFollowsTheForm: each form masks as its authors do, unless the user says otherwise.
func TestMaskerFollowsTheForm(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	build := func(options string) *spec.Reply {
		c.Options = []byte(options)
		return c.Build(t, papl.New())
	}
	for form, masker := range map[string]string{"paper": "count", "pelbo": "count", "open_dllm": "bernoulli"} {
		if diff := cmp.Diff(build(`{"form":"`+form+`","masker":"`+masker+`"}`), build(`{"form":"`+form+`"}`)); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
	if cmp.Equal(build(`{"form":"open_dllm"}`), build(`{"form":"open_dllm","masker":"count"}`)) {
		t.Error("a masker that was given is not used")
	}
}

func TestRefusals(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	for options, want := range map[string]string{
		`{"alpha": -1}`:       "trainer papl: INVALID_CONFIG: option alpha: expected a number of at least 0, found -1; `mdmhost plugin info papl` lists the options",
		`{"form": "papr"}`:    `trainer papl: INVALID_CONFIG: option form: expected one of paper, pelbo, open_dllm, found "papr"; *`,
		`{"alpha": "inf"}`:    "trainer papl: INVALID_CONFIG: papl alpha +Inf: expected a finite number >= 0; the paper's is 1",
		`{"temperature": 1}`:  "trainer papl: INVALID_CONFIG: option temperature: unknown*",
		`{"alpha_warmup": 2}`: "trainer papl: INVALID_CONFIG: option alpha_warmup: *",
	} {
		c.Options = []byte(options)
		_, err := papl.New().Build(t.Context(), c.Task())
		if err == nil {
			t.Errorf("%s: no error", options)
			continue
		}
		if start, open := strings.CutSuffix(want, "*"); open && !strings.HasPrefix(err.Error(), start) || !open && err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", options, err, want)
		}
	}
}
