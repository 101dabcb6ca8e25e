package sampling_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

const blank, given = sampling.Masked | sampling.Eligible, sampling.Fixed

// A row of four: one given, three to fill; token 8 is the mask.
func admitted(index int64) sampling.Frame {
	return sampling.Frame{Index: index, Steps: 3, Tokens: []int32{1, 8, 8, 8}, Flags: []sampling.Flags{given, blank, blank, blank}}
}

func TestTraceLines(t *testing.T) {
	var b bytes.Buffer
	tr := sampling.NewTrace(&b, sampling.TraceHeader{Model: "<m>"})
	tr.Spell = func(id int32) (string, bool) { return strings.Repeat("</script>", int(id%2)), id == 8 }
	tr.Admitted(admitted(0))
	nan := float32(math.NaN())
	tr.Stepped(sampling.Frame{Index: 0, Step: 0, NFE: 1, Tokens: []int32{1, 2, 8, 8}, Flags: []sampling.Flags{given, 0, blank, blank}, Opened: []int32{1},
		Logp: []float32{0, -0.123456, 0, 0}, Entropy: []float32{1, 2, 6}, Guess: []int32{2, 3, 4}, GuessAt: 1})
	// The same proposal again says nothing; position 1 is masked again, position 2 was overwritten by somebody with no statistics.
	tr.Stepped(sampling.Frame{Index: 0, Step: 1, NFE: 2, Tokens: []int32{1, 8, 5, 8}, Flags: []sampling.Flags{given, blank, 0, blank}, Opened: []int32{2}, Remasked: []int32{1},
		Logp: []float32{0, nan, nan, 0}, Entropy: []float32{9, 1, 2}, Guess: []int32{-1, 3, 4}, GuessAt: 1, Metrics: map[string]float64{"m": 1}})
	tr.Finished(sampling.Result{Index: 0, Tokens: []int32{1, 8, 5, 8}, Finish: sampling.FinishCancelled, NFE: 2, Steps: 2})
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `{"trace":1,"seed":0,"model":"\u003cm\u003e","sampler":"","planner":""}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"1":"\u003c/script\u003e","8":""},"special":[8]}
{"event":"row","row":0,"step":0,"nfe":0,"tokens":[1,8,8,8]}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"2":""}}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"3":"\u003c/script\u003e"}}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"4":""}}
{"event":"step","row":0,"step":0,"nfe":1,"opened":[[1,2]],"logp":[-0.12346],"entropies":[1],"entropy":3,"guess":[[2,3],[3,4]]}
{"event":"tokens","row":0,"step":0,"nfe":0,"pieces":{"5":"\u003c/script\u003e"}}
{"event":"step","row":0,"step":1,"nfe":2,"opened":[[2,5]],"remasked":[1],"metrics":{"m":1},"logp":[null],"entropies":[1],"entropy":1.5}
{"event":"end","row":0,"step":2,"nfe":2,"tokens":[1,8,5,8],"finish":"cancelled"}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// Without statistics a trace is what it was in its first form.
func TestTraceWithoutStatistics(t *testing.T) {
	var b bytes.Buffer
	tr := sampling.NewTrace(&b, sampling.TraceHeader{})
	tr.Admitted(admitted(3))
	tr.Stepped(sampling.Frame{Index: 3, NFE: 1, Tokens: []int32{1, 2, 8, 8}, Flags: []sampling.Flags{given, 0, blank, blank}, Opened: []int32{1}})
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := `{"event":"step","row":3,"step":0,"nfe":1,"opened":[[1,2]]}` + "\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s", b.String())
	}
}

// Beyond the limit no row begins, those on their way are completed, and the last line counts what is missing.
func TestTraceLimit(t *testing.T) {
	var b bytes.Buffer
	tr := sampling.NewTrace(&b, sampling.TraceHeader{})
	tr.Limit = 200
	for i := range int64(5) {
		tr.Admitted(admitted(i))
	}
	for i := range int64(5) {
		tr.Stepped(sampling.Frame{Index: i, Tokens: []int32{1, 2, 8, 8}, Flags: []sampling.Flags{given, 0, blank, blank}, Opened: []int32{1}})
		tr.Finished(sampling.Result{Index: i})
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(b.String()) {
		var e sampling.TraceEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		counts[e.Event] += max(e.Count, 1)
	}
	begun := 5 - tr.LeftOut()
	if diff := cmp.Diff(map[string]int{"": 1, "row": begun, "step": begun, "end": begun, "left_out": 5 - begun}, counts); diff != "" || begun == 5 || begun == 0 {
		t.Error(diff, begun)
	}
}

func TestNats(t *testing.T) {
	in := sampling.Nats{-0.5, float32(math.NaN()), float32(math.Inf(-1)), 1e-12}
	text, err := json.Marshal(in)
	if err != nil || string(text) != "[-0.5,null,null,1e-12]" {
		t.Fatalf("%v: %s", err, text)
	}
	var out sampling.Nats
	if err := json.Unmarshal(text, &out); err != nil || len(out) != 4 || !math.IsNaN(float64(out[1])) || out[3] != 1e-12 {
		t.Errorf("%v: %v", err, out)
	}
	if err := json.Unmarshal([]byte(`["x"]`), &out); err == nil {
		t.Error("a text is no number")
	}
}
