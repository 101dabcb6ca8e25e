package model_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// speeds is the fixture with exponents.
func speeds(t *testing.T, w ...float32) *model.Model {
	t.Helper()
	var file bytes.Buffer
	if err := safetensors.Encode(&file, []safetensors.Tensor{safetensors.Of(model.ExponentsTensor, []int64{int64(len(w))}, w)}, nil); err != nil {
		t.Fatal(err)
	}
	return newFixture().with("mdm.json", `{"schedule": {"kind": "per_token"}}`).with("model.safetensors", file.String()).open(t)
}

// A description lists the exponents of the tokens that may be written, the largest first, and the digest is of them, too.
func TestExponentsAreDescribed(t *testing.T) {
	one := speeds(t, 1, 0.5, 3, 0.25, 2, 9, 9) // a b c 1 ? _ [PAD]; the mask is never written
	d, err := one.Describe()
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, e := range d.Exponents {
		got += fmt.Sprintf("%s=%v ", e.Token, e.W)
	}
	if diff := cmp.Diff("[PAD]=9 c=3 ?=2 a=1 b=0.5 1=0.25 ", got); diff != "" {
		t.Error(diff)
	}
	other, err := speeds(t, 1, 0.5, 3, 0.25, 2.5, 9, 9).Digest()
	if digest, also := one.Digest(); err != nil || also != nil || digest == other {
		t.Errorf("models of other exponents have the same digest %s (%v, %v)", digest, err, also)
	}
	if w, err := newFixture().open(t).Exponents(); w != nil || err != nil {
		t.Errorf("a model without has the exponents %v, %v", w, err)
	}
}

func TestExponentsThatCannotBe(t *testing.T) {
	for want, w := range map[string][]float32{
		"schedule.exponents has shape [2], expected [7], the width of the logits":                        {1, 2},
		"schedule.exponents of token 3 is 0, expected a finite number above 0":                           {1, 1, 1, 0, 1, 1, 1},
		"schedule.exponents of token 0 is NaN, expected a finite number above 0; mdm.json says schedule": {float32(math.NaN()), 1, 1, 1, 1, 1, 1},
		"schedule.exponents of token 6 is +Inf":                                                          {1, 1, 1, 1, 1, 1, float32(math.Inf(1))},
	} {
		_, err := speeds(t, w...).Exponents()
		mustFail(t, err, "toy/model.safetensors: "+want)
	}
}
