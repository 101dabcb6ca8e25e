package scorer

import (
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
)

// unheard marks a token that the planner's network has no word for.
const unheard int32 = -1

// translation takes the ids of a denoiser to those of a planner's network, by the texts of the tokens.
type translation struct {
	ids     []int32 // [V] the network's id, or unheard
	missing []int32 // writable ids without a counterpart; they are read as the unknown token, where the network has one
	most    int     // writable ids
}

// translate maps every token of from to the token of the same text in to; mask, padding, unknown token and the ends of the
// sequence template go by their roles, whatever their texts. suppressed are the ids that the run never writes. Less than half
// of the others in common is an error: the network speaks of something else.
func translate(from, to *model.Model, suppressed []int32) (*translation, error) {
	t := &translation{ids: make([]int32, from.V)}
	silent := make([]bool, from.V)
	for _, id := range suppressed {
		silent[id] = true
	}
	roles := roles(from, to)
	unknown, hasUnknown := to.Tokenizer.Unknown()
	for id := range int32(from.V) {
		there, known := roles[id]
		text := from.Tokenizer.Token(id)
		if !known && text != "" {
			there, known = to.Tokenizer.ID(text)
			known = known && int(there) < to.V && there != to.MaskID // a word that only looks like the mask
		}
		if !silent[id] {
			t.most++
		}
		switch {
		case known:
			t.ids[id] = there
			continue
		case hasUnknown:
			t.ids[id] = unknown
		default:
			t.ids[id] = unheard
		}
		if !silent[id] {
			t.missing = append(t.missing, id)
		}
	}
	if 2*len(t.missing) > t.most {
		return nil, fmt.Errorf("the vocabulary of model %s (%d tokens) shares %d of %d tokens with that of the network (%d tokens); missing are %s; name a network that was trained on the same tokens",
			from.Name, from.Tokenizer.Size(), t.most-len(t.missing), t.most, to.Tokenizer.Size(), t.list(from))
	}
	return t, nil
}

// roles pairs the tokens that stand for a place in the row rather than for text.
func roles(from, to *model.Model) map[int32]int32 {
	pairs := map[int32]int32{}
	a, hasA := from.Tokenizer.Unknown()
	if b, hasB := to.Tokenizer.Unknown(); hasA && hasB {
		pairs[a] = b
	}
	before, after := from.Tokenizer.Template()
	first, last := to.Tokenizer.Template()
	if len(before) > 0 && len(first) > 0 {
		pairs[before[0]] = first[0]
	}
	if len(after) > 0 && len(last) > 0 {
		pairs[after[len(after)-1]] = last[len(last)-1]
	}
	if _, paired := pairs[from.PadID]; !paired && from.Tokenizer.Special(from.PadID) && to.Tokenizer.Special(to.PadID) { // else it is any token
		pairs[from.PadID] = to.PadID
	}
	pairs[from.MaskID] = to.MaskID
	return pairs
}

// list names the missing tokens, the first eight of many.
func (t *translation) list(from *model.Model) string {
	var out []string
	for _, id := range t.missing[:min(len(t.missing), 8)] {
		out = append(out, fmt.Sprintf("%q", from.Tokenizer.Token(id)))
	}
	if more := len(t.missing) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// note tells what the network cannot read; "" where there is nothing.
func (t *translation) note(from, to *model.Model) string {
	if len(t.missing) == 0 {
		return ""
	}
	how := "it sees a mask there and scores them -inf: they open last and are the first to be masked again"
	if unknown, ok := to.Tokenizer.Unknown(); ok {
		how = "it reads them as " + to.Tokenizer.Token(unknown)
	}
	return fmt.Sprintf("planner network %s: %d of the %d tokens that model %s may write have no counterpart (%s); %s",
		to.Name, len(t.missing), t.most, from.Name, t.list(from), how)
}

// suppressed returns the network's ids that nothing which the run may write becomes, but something suppressed does: they take no
// part in its softmax either. The mask and ids without a token are suppressed everywhere.
func (t *translation) suppressed(to *model.Model, here []int32) []int32 {
	silent, used := make([]bool, len(t.ids)), make([]bool, to.V)
	for _, id := range here {
		silent[id] = true
	}
	for id, there := range t.ids {
		if there >= 0 && !silent[id] {
			used[there] = true
		}
	}
	var out []int32
	for _, id := range here {
		if there := t.ids[id]; there >= 0 && !used[there] {
			out = append(out, there)
		}
	}
	return to.SuppressWith(out)
}
