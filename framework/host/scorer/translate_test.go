package scorer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model"
)

// Texts decide, but for mask, padding, unknown token and the ends of the template, which go by their roles.
func TestTranslate(t *testing.T) {
	from, to := newToy("a", "b", "#", "[CLS]", "[SEP]", "[PAD]", "c", "_", "¿"), newToy("<s>", "</s>", "<pad>", "c", "[CLS]", "b", "~", "a", "u", "#", "_")
	from.ends, from.pad, from.unknown = []string{"[CLS]", "[SEP]"}, "[PAD]", "¿"
	to.ends, to.pad, to.unknown, to.mask = []string{"<s>", "</s>"}, "<pad>", "u", "~"
	here, err := model.Open(from.write(t))
	if err != nil {
		t.Fatal(err)
	}
	there, err := model.Open(to.write(t), model.AsPlanner())
	if err != nil {
		t.Fatal(err)
	}
	words, err := translate(here, there, here.SuppressWith([]int32{3, 4, 5}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range words.ids {
		got = append(got, to.vocab[id])
	}
	if diff := cmp.Diff([]string{"a", "b", "#", "<s>", "</s>", "<pad>", "c", "~", "u"}, got); diff != "" {
		t.Error(diff)
	}
	if note := words.note(here, there); note != "" {
		t.Errorf("note %q", note)
	}
	// What the run never writes is left out there, too; a word that only looks like the mask is none.
	silent := words.suppressed(there, here.SuppressWith([]int32{3, 4, 5}))
	if want := []int32{0, 1, 2, 6}; !slices.Equal(silent, want) {
		t.Errorf("suppressed %v, expected %v", silent, want)
	}
	// The unknown token stays where something writable becomes it, whatever else that is suppressed does.
	back, err := translate(there, here, there.SuppressWith([]int32{4}))
	if err != nil {
		t.Fatal(err)
	}
	if back.ids[10] != 8 || len(back.missing) != 1 {
		t.Errorf("a text that looks like the mask is %q, missing %v", from.vocab[back.ids[10]], back.missing)
	}
	if silent = back.suppressed(here, there.SuppressWith([]int32{4, 8})); slices.Contains(silent, 8) {
		t.Errorf("suppressed %v, which takes the unknown token away", silent)
	}
}
