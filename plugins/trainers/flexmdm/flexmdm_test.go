package flexmdm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/flexmdm"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
)

// TestAgainstTheReference runs both graphs on fixed noise: contracted rows, losses, metrics, and gradients by differences.
func TestAgainstTheReference(t *testing.T) {
	try.Agree(t, "testdata/golden.json.gz", flexmdm.New)
}

// TestWhatItSays holds the reply's words: inputs, bound and the clock for mdm.json.
func TestWhatItSays(t *testing.T) {
	task := try.Goldens(t, "testdata/golden.json.gz")[0].Task()
	task.Options = []byte(`{"a": 2, "eps": 0.001}`)
	reply, err := flexmdm.New().Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	want := diffusion.Spec{Kind: "kumaraswamy", A: 2}
	if reply.Schedule != want || reply.Spec.Bound != spec.PathBound || reply.Summary != "FlexMDM, a 2, normalise sum" || len(reply.Spec.Networks) != 1 {
		t.Errorf("schedule %+v, bound %s, summary %q, networks %v", reply.Schedule, reply.Spec.Bound, reply.Summary, reply.Spec.Networks)
	}
	var got []string
	for _, in := range reply.Spec.Inputs {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %v %s %v", in.Name, in.Kind, in.Shape, in.Sampler, in.Eps)))
	}
	inputs := []string{"time time [B 1] stratified 0.001", "tokens tokens [B L]  0", "free free [B L]  0", "attention_mask attention_mask [B L]  0",
		"q_in uniform [B L]  0", "q_um uniform [B L]  0", "time2 time [B 1] stratified 0.0001"}
	if diff := cmp.Diff(inputs, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	masked := try.Goldens(t, "testdata/golden.json.gz")[0].Task()
	masked.Denoiser = try.Denoiser(masked.V, true)
	blind := try.Goldens(t, "testdata/golden.json.gz")[0].Task()
	blind.PadID = -1
	blind.Denoiser.Inputs = slices.DeleteFunc(blind.Denoiser.Inputs, func(p graph.Port) bool { return p.Name == "attention_mask" })
	for want, task := range map[string]spec.Task{
		`trainer flexmdm: INVALID_CONFIG: network "denoiser" gives no insertion_rate; expected an insertion model, which rates the gaps of a row: add --set network.gaps=eos`:                             masked,
		`trainer flexmdm: INVALID_CONFIG: network "denoiser" takes no attention_mask, and its tokenizer has no padding; rows of an insertion model differ in length, so export it with an attention_mask`: blind,
	} {
		if _, err := flexmdm.New().Build(t.Context(), task); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error\n%v\nwant\n%s", err, want)
		}
	}
}

// TestANetworkWithoutTimeOrPadding: neither the time nor an id for padding is needed.
func TestANetworkWithoutTimeOrPadding(t *testing.T) {
	cases := try.Goldens(t, "testdata/golden.json.gz")
	h := cases[slices.IndexFunc(cases, func(h try.Heads) bool { return h.Name == "plain, eval" })]
	task := h.Task()
	task.PadID, task.Denoiser = -1, try.Insertion(h.V, false, false)
	reply, err := flexmdm.New().Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	delete(h.Want, "timesteps")
	try.Compare(t, h.Graph, h.Open(t, reply.Eval, 1)(), h.Want)
}
