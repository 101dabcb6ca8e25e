package md4_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/md4"
)

// TestAgainstTheReference runs both graphs of every schedule, continuous and of finite T, and of both estimators.
func TestAgainstTheReference(t *testing.T) {
	try.Reference(t, "testdata/golden.json.gz", md4.New)
}

func TestRefusals(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	for options, want := range map[string]string{
		`{"schedule": "polynomial", "c": 0}`:                "trainer md4: INVALID_CONFIG: schedule.c 0: ",
		`{"schedule": "geometric", "b_min": 2, "b_max": 1}`: "trainer md4: INVALID_CONFIG: schedule.b_min 2, schedule.b_max 1: ",
		`{"t": 4, "estimator": "count"}`:                    "trainer md4: INVALID_CONFIG: option t: the estimator by counts is of continuous time; leave t at 0, or choose the estimator time",
		`{"schedule": "linear", "eps": 0.5}`:                "trainer md4: INVALID_CONFIG: schedule.eps 0.5: expected 0 <= eps < 0.5; ",
	} {
		c.Options = []byte(options)
		if _, err := md4.New().Build(t.Context(), c.Task()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant\n%s...", options, err, want)
		}
	}
}

// TestWhatItSays holds the reply's words: inputs, bound and the schedule for mdm.json.
func TestWhatItSays(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	c.Options = []byte(`{"schedule": "cosine"}`)
	reply := c.Build(t, md4.New())
	want := diffusion.Spec{Kind: "cosine", Eps: 1e-4}
	if reply.Schedule != want || reply.Spec.Bound != spec.Bound || reply.Summary != "MD4, cosine(eps=0.0001) schedule, estimator time" {
		t.Errorf("schedule %+v, bound %s, summary %q", reply.Schedule, reply.Spec.Bound, reply.Summary)
	}
	var got []string
	for _, in := range reply.Spec.Inputs {
		got = append(got, fmt.Sprintf("%s %s %v %s", in.Name, in.Kind, in.Shape, in.Sampler))
	}
	inputs := []string{"time time [B 1] shared_offset", "free free [B L] ", "u uniform [B L] ", "tokens tokens [B L] ", "attention_mask attention_mask [B L] ",
		"time2 time [B 1] stratified", "rank rank [B L] "}
	if diff := cmp.Diff(inputs, got); diff != "" {
		t.Error(diff)
	}
}
