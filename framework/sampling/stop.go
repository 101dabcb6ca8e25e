package sampling

import (
	"slices"
	"strings"
)

// Stop says when a row ends before all of it is written: when a token of EOS or the end of a phrase stands in what was
// generated and no mask is left before it (EB-Sampler, generate_until). What lies behind is dropped. The zero value never
// ends a row. Where planners never mask again, AtEnd changes nothing but the number of passes.
type Stop struct {
	EOS     []int32                     // end-of-text ids
	Phrases []string                    // none empty
	Decode  func(tokens []int32) string // with Phrases: the text of generated tokens
	AtEnd   bool                        // complete the row first and cut it then, so that the passes with and without the rule are known
}

// Any tells whether there is a rule.
func (s *Stop) Any() bool { return len(s.EOS)+len(s.Phrases) > 0 }

// find returns how many of the generated tokens stay: those up to the first end-of-text token or phrase; 0 where there is
// neither. beyond is what the text of the last of them holds behind the phrase.
func (s *Stop) find(tokens []int32) (n int, beyond string) {
	if i := slices.IndexFunc(tokens, func(t int32) bool { return slices.Contains(s.EOS, t) }); i >= 0 {
		n, tokens = i+1, tokens[:i]
	}
	if len(s.Phrases) == 0 || s.behind(s.Decode(tokens)) < 0 {
		return n, ""
	}
	for i := range tokens {
		text := s.Decode(tokens[:i+1])
		if end := s.behind(text); end >= 0 {
			return i + 1, text[end:]
		}
	}
	return n, ""
}

// behind returns where the phrase that ends first ends in the text, -1 without one.
func (s *Stop) behind(text string) int {
	end := -1
	for _, phrase := range s.Phrases {
		if i := strings.Index(text, phrase); i >= 0 && (end < 0 || i+len(phrase) < end) {
			end = i + len(phrase)
		}
	}
	return end
}

// cut is what a row's stop rule has found.
type cut struct {
	written int    // no mask from the row's first free position to here
	tokens  int    // of the row that stay, 0 while the rule is not met
	beyond  string // see [Result]
	nfe     int    // when the rule was met
}

// stops looks for the rule's end in a row after a step, wherever the stretch without masks has changed, and ends the row
// there unless it is to be completed first. What a planner masks again can undo the end.
func (l *Loop) stops(c *canvas, opened, remasked []int32) {
	k := &c.cut
	if !l.Stop.Any() || k.tokens > 0 && !l.CanRemask {
		return
	}
	again := false
	for _, i := range remasked {
		again = again || int(i) < k.tokens
		k.written = min(k.written, max(int(i), c.first))
	}
	end := c.blocks[len(c.blocks)-1].hi // special tokens behind are none that were generated
	for k.written < end && c.flags[k.written]&Masked == 0 {
		k.written++
	}
	if !again && !slices.ContainsFunc(opened, func(i int32) bool { return int(i) < k.written }) {
		return
	}
	n, beyond := l.Stop.find(c.tokens[c.first:k.written])
	switch {
	case n == 0:
		k.tokens = 0
		return
	case k.tokens == 0:
		k.nfe = c.nfe
	}
	k.tokens, k.beyond = c.first+n, beyond
	if !l.Stop.AtEnd {
		c.finish = FinishStop
	}
}

// apply cuts a row that reached its end.
func (k *cut) apply(r *Result) {
	if k.tokens == 0 || r.Finish == FinishError || r.Finish == FinishCancelled {
		return
	}
	n := k.tokens
	r.Finish, r.Until, r.Beyond = FinishStop, k.nfe, k.beyond
	r.Tokens, r.StepMap, r.Logp = r.Tokens[:n], r.StepMap[:n], r.Logp[:n]
	r.Opened = written(r.StepMap)
}

// written counts the positions that a step opened.
func written(stepMap []int32) (n int) {
	for _, step := range stepMap {
		if step >= 0 {
			n++
		}
	}
	return n
}
