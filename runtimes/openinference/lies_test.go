package openinference

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// TestLies: an answer that is not sound is an error that names endpoint, model and output, what was expected and what was found; never a token.
func TestLies(t *testing.T) {
	at := func(name string, change func(*tensor)) func([]tensor) []tensor {
		return func(out []tensor) []tensor {
			for i := range out {
				if out[i].name == name {
					change(&out[i])
				}
			}
			return out
		}
	}
	number := func(x float32) func(*tensor) {
		return func(t *tensor) { one := tensor{}; one.addFloat(x); copy(t.raw, one.raw) }
	}
	token := func(x int64) func(*tensor) {
		return func(t *tensor) { one := tensor{datatype: "INT64"}; one.addInteger(x); copy(t.raw, one.raw) }
	}
	without := func(name string) func([]tensor) []tensor {
		return func(out []tensor) []tensor {
			return slices.DeleteFunc(out, func(t tensor) bool { return t.name == name })
		}
	}
	for _, c := range []struct {
		name string
		lie  func([]tensor) []tensor
		want string
	}{
		{"missing", without(p1), "its answer lacks output p1, found proposal, entropy"},
		{"nothing", func([]tensor) []tensor { return nil }, "its answer lacks output proposal, found nothing"},
		{"twice", func(out []tensor) []tensor { return append(out, out[0]) }, "its answer has output proposal twice"},
		{"shape", at(p1, func(t *tensor) { t.shape = []int64{2, 6} }), "output p1 has shape [2 6], expected [2 5]"},
		{"rank", at(entropy, func(t *tensor) { t.shape = []int64{10} }), "output entropy has shape [10], expected [2 5]"},
		{"turned", at(p1, func(t *tensor) { t.shape = []int64{5, 2} }), "output p1 has shape [5 2], expected [2 5]"},
		{"datatype", at(p1, func(t *tensor) { t.datatype = "FP64" }), "output p1 is of FP64, expected FP32"},
		{"no datatype", at(proposal, func(t *tensor) { t.datatype = "" }), "output proposal is of no datatype, expected INT64"},
		{"too short", at(p1, func(t *tensor) { t.raw = t.raw[:36] }), "output p1 holds 36 bytes, expected 40 for FP32 [2 5]"},
		{"too long", at(p1, func(t *tensor) { t.raw = append(t.raw, 0, 0, 0, 0) }), "output p1 holds 44 bytes, expected 40"},
		{"beyond the vocabulary", at(proposal, token(v)), "output proposal holds 13 at row 0, position 0, expected a token, 0 to 12"},
		{"far below", at(proposal, token(-3)), "output proposal holds -3 at row 0, position 0"},
		{"beyond 32 bits", at(proposal, token(1<<32+5)), "output proposal holds 4294967301 at row 0"},
		{"the mask", at(proposal, token(mask)), "output proposal holds 3 at row 0, position 0, a token that is never written"},
		{"NaN", at(p1, number(float32(math.NaN()))), "output p1 holds NaN at row 0, position 0, expected 0 to 1"},
		{"no probability", at(p2, number(1.5)), "output p2 holds 1.5 at row 0, position 0, expected 0 to 1"},
		{"infinite", at(entropy, number(float32(math.Inf(1)))), "output entropy holds +Inf at row 0, position 0"},
		{"no logarithm of a probability", at(logpCurrent, number(0.5)), "output logp_current holds 0.5 at row 0, position 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for way, serve := range ways {
				f := servedHead(v, plain.Suppress...)
				f.extensions = []string{"binary_tensor_data"} // so that lies arrive as they are told
				address := serve(t, f)
				d := open(t, plain, Options{Endpoints: []string{address}, Retries: 3}, usual)
				batch := batchOf(t, d, 2, 5)
				for i := range batch.Active {
					batch.Active[i] = 1
				}
				f.lie = c.lie
				before := f.came.Load()
				_, err := d.Run(t.Context())
				if err == nil || !strings.HasPrefix(err.Error(), "endpoint "+address+", model fake: ") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: error %v, expected %q", way, err, c.want)
				}
				if f.came.Load() != before+1 {
					t.Errorf("%s: asked %d times, expected once: another try would hide the lie", way, f.came.Load()-before)
				}
			}
		})
	}
}

// TestUnasked: what nobody asked for, and positions that nobody wants, are of no interest.
func TestUnasked(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	f.lie = func(out []tensor) []tensor {
		for i := range out {
			if out[i].name == proposal {
				bad := tensor{datatype: "INT64"}
				bad.addInteger(99)
				copy(out[i].raw, bad.raw)
			}
		}
		return append(out, tensor{name: "weather", datatype: "BYTES", shape: []int64{1}, raw: []byte{1}})
	}
	d := open(t, plain, Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}}, sampling.Head{Needs: sampling.Needs{Proposal: true}, Suppress: plain.Suppress})
	batchOf(t, d, 1, 4).Active[0] = 0
	got, err := d.Run(t.Context())
	if err != nil || got.Proposal[0] != -1 {
		t.Errorf("proposal %v and error %v, expected -1 where none is wanted and no error", got, err)
	}
}
