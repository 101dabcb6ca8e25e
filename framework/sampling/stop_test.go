package sampling_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// spell is the text of tokens: letters from a; the token e (4) is two letters, so that phrases end within it.
func spell(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString([]string{"a", "b", "c", "d", "ab", "f", "g", "h"}[t])
	}
	return b.String()
}

// dictate is a model that wants tokens of a text at all positions, its first token surest.
func dictate(v int, text []int32) func([]int64, []float32) {
	return func(tokens []int64, out []float32) {
		clear(out)
		for i := range tokens {
			out[i*v+int(text[i])] = 20 - float32(i)/10
		}
	}
}

// leave opens all positions of a row but those given, first, and those in order then.
func leave(positions ...int32) planFunc {
	return func(r *sampling.Row, d *sampling.Decision) {
		for _, i := range eligible(r) {
			if !slices.Contains(positions, int32(r.Offset)+i) {
				d.Open = append(d.Open, i)
			}
		}
		for _, i := range positions {
			if at := i - int32(r.Offset); len(d.Open) == 0 && r.Flags[at]&sampling.Masked != 0 {
				d.Open = append(d.Open, at)
			}
		}
	}
}

func TestStopRules(t *testing.T) {
	const m = 8
	for name, c := range map[string]struct {
		stop          sampling.Stop
		prompt        []int32
		text          []int32 // what the model writes, prompt included
		plan          planFunc
		want          []int32
		nfe, full     int
		finish        sampling.Finish
		beyond        string
		stepMap       []int32
		opened, steps int
	}{
		"end of text": {sampling.Stop{EOS: []int32{7}}, []int32{0}, []int32{0, 1, 7, 2, 3}, leftmost,
			[]int32{0, 1, 7}, 2, 4, "stop", "", []int32{-1, 0, 1}, 2, 2},
		"end of text before a mask": {sampling.Stop{EOS: []int32{7}}, nil, []int32{1, 7, 2, 3}, leave(0),
			[]int32{1, 7}, 2, 2, "stop", "", []int32{1, 0}, 2, 2},
		"end of text in the prompt": {sampling.Stop{EOS: []int32{7}}, []int32{7, 1}, []int32{7, 1, 2, 3}, leftmost,
			[]int32{7, 1, 2, 3}, 2, 2, "complete", "", []int32{-1, -1, 0, 1}, 2, 2},
		"phrase": {sampling.Stop{Phrases: []string{"cd"}}, []int32{0}, []int32{0, 1, 2, 3, 0, 0}, leftmost,
			[]int32{0, 1, 2, 3}, 3, 5, "stop", "", []int32{-1, 0, 1, 2}, 3, 3},
		"phrase within a token": {sampling.Stop{Phrases: []string{"ca"}}, nil, []int32{2, 4, 0, 0}, leftmost,
			[]int32{2, 4}, 2, 4, "stop", "b", []int32{0, 1}, 2, 2},
		"phrase in the prompt": {sampling.Stop{Phrases: []string{"cd"}}, []int32{2, 3, 2}, []int32{2, 3, 2, 3, 2, 3}, leftmost,
			[]int32{2, 3, 2, 3, 2, 3}, 3, 3, "stop", "", []int32{-1, -1, -1, 0, 1, 2}, 3, 3},
		"the first of two": {sampling.Stop{Phrases: []string{"cd", "b"}}, nil, []int32{0, 1, 2, 3, 0}, leave(0, 4),
			[]int32{0, 1}, 2, 3, "stop", "", []int32{1, 0}, 2, 2},
		"a phrase before the end of text": {sampling.Stop{Phrases: []string{"b"}, EOS: []int32{7}}, nil, []int32{0, 1, 7, 3}, leave(0),
			[]int32{0, 1}, 2, 2, "stop", "", []int32{1, 0}, 2, 2},
		"a phrase behind the end of text": {sampling.Stop{Phrases: []string{"d"}, EOS: []int32{7}}, nil, []int32{0, 1, 7, 3}, leave(0),
			[]int32{0, 1, 7}, 2, 2, "stop", "", []int32{1, 0, 0}, 3, 2},
		"nothing to stop at": {sampling.Stop{Phrases: []string{"zz"}, EOS: []int32{7}}, nil, []int32{0, 1}, leftmost,
			[]int32{0, 1}, 2, 2, "complete", "", []int32{0, 1}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, atEnd := range []bool{false, true} {
				stop := c.stop
				stop.Decode, stop.AtEnd = spell, atEnd
				request := sampling.Request{Tokens: append(slices.Clone(c.prompt), slices.Repeat([]int32{m}, len(c.text)-len(c.prompt))...)}
				res, acc, err := run{denoiser: &goDenoiser{v: m + 1, logits: dictate(m+1, c.text)}, plan: c.plan, requests: []sampling.Request{request},
					frame: func(l *sampling.LoopConfig) { l.Stop = stop }}.do(t)
				if err != nil {
					t.Fatal(err)
				}
				r := res[0]
				got := sampling.Result{Tokens: r.Tokens, NFE: r.NFE, Until: r.Until, Finish: r.Finish, Beyond: r.Beyond, StepMap: r.StepMap, Opened: r.Opened, Steps: r.Steps}
				want := sampling.Result{Tokens: c.want, NFE: c.nfe, Until: c.nfe, Finish: c.finish, Beyond: c.beyond, StepMap: c.stepMap, Opened: c.opened, Steps: c.steps}
				if atEnd {
					want.NFE, want.Steps = c.full, c.full
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("at the end %v (-want +got):\n%s", atEnd, diff)
				}
				if acc.Tokens != r.Opened || acc.Until != r.Until || acc.RowPasses != r.NFE || len(r.Logp) != len(r.Tokens) {
					t.Errorf("accounts %+v of %+v", acc, r)
				}
			}
		})
	}
}

// Special tokens behind the blanks were not generated: they are no end of text, and a row that ends before them loses them.
func TestTheTemplatesEndIsNoEndOfText(t *testing.T) {
	for text, want := range map[int32]string{1: "complete [0 1 2 7]", 7: "stop [0 7]"} {
		res, _, err := run{denoiser: &goDenoiser{v: 9, logits: dictate(9, []int32{0, text, 2, 7})}, plan: leftmost,
			requests: []sampling.Request{{Tokens: []int32{0, 8, 8, 7}}}, frame: func(c *sampling.LoopConfig) { c.Stop.EOS = []int32{7} }}.do(t)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(res[0].Finish, " ", res[0].Tokens); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Where a planner never masks again, stopping at once and cutting at the end make the same row, and the passes until the
// rule was met are those of the row that stopped. Where it does, the row at the end is cut by what stands there then. With
// blocks, too.
func TestStoppingOnceOrAtTheEnd(t *testing.T) {
	const v = 9
	met := 0
	rapid.Check(t, func(rt *rapid.T) {
		request := sampling.Request{Tokens: append(rapid.SliceOfN(rapid.Int32Range(0, v-2), 0, 3).Draw(rt, "prompt"), slices.Repeat([]int32{v - 1}, rapid.IntRange(1, 14).Draw(rt, "blanks"))...),
			Params: sampling.Params{Temperature: 1, TopP: 1}}
		seed := rapid.Uint64().Draw(rt, "seed")
		stop := sampling.Stop{EOS: []int32{7}, Phrases: rapid.SliceOfN(rapid.SampledFrom([]string{"aa", "ca", "abc", "fg", "h"}), 0, 2).Draw(rt, "phrases"), Decode: spell}
		if rapid.Bool().Draw(rt, "phrases alone") {
			stop.EOS = nil
		}
		block, remasks := rapid.IntRange(0, 6).Draw(rt, "block"), rapid.Bool().Draw(rt, "remasks")
		sample := func(how *sampling.Stop) sampling.Result {
			plan := uniformly
			if remasks {
				plan = chaotic
			}
			res, _, err := run{denoiser: &goDenoiser{v: v, logits: hashLogits(v)}, plan: plan, canRemask: remasks, needs: sampling.Needs{Uniform: true}, seed: seed,
				requests: []sampling.Request{request}, frame: func(c *sampling.LoopConfig) {
					c.Blocks.Length = block
					if how != nil {
						c.Stop = *how
					}
				}}.do(t)
			if err != nil {
				rt.Fatal(err)
			}
			return res[0]
		}
		full, once := sample(nil), sample(&stop)
		stop.AtEnd = true
		end := sample(&stop)
		// By the definition: the shortest generated beginning that holds an end.
		want, prompt, ends := full.Tokens, slices.Index(request.Tokens, int32(v-1)), false
		for n := prompt + 1; n <= len(full.Tokens); n++ {
			part := full.Tokens[prompt:n]
			found := slices.Contains(stop.EOS, part[len(part)-1])
			for _, phrase := range stop.Phrases {
				found = found || strings.Contains(spell(part), phrase)
			}
			if found {
				want, ends = full.Tokens[:n], true
				break
			}
		}
		if diff := cmp.Diff(want, end.Tokens); diff != "" || end.NFE != full.NFE || ends != (end.Finish == sampling.FinishStop) {
			rt.Fatalf("cut at the end, NFE %d of %d, %s (-definition +ours):\n%s", end.NFE, full.NFE, end.Finish, diff)
		}
		if once.NFE > end.NFE || once.Until != once.NFE {
			rt.Fatalf("stopped after %d passes (until %d), the whole row takes %d", once.NFE, once.Until, end.NFE)
		}
		if !remasks {
			if diff := cmp.Diff(once.Tokens, end.Tokens); diff != "" || once.Finish != end.Finish || once.NFE != end.Until {
				rt.Fatalf("once after %d, at the end %d until the rule (-once +end):\n%s", once.NFE, end.Until, diff)
			}
			if end.Finish == sampling.FinishStop {
				met++
			}
		}
	})
	if met == 0 {
		t.Error("no row met its rule")
	}
}
