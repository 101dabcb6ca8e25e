package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotes: everything that was left out or cut is told, in a line for each set.
func TestNotes(t *testing.T) {
	train, valid := put(t, "a.csv", "t\nab\nabcd\na,b\nabc\n\"\n"), put(t, "b.csv", "t\nab\nabc\nc,\n")
	base := spec(func(s *Spec) {
		s.Train, s.Valid, s.Column, s.Layout, s.Length, s.BadLines, s.TooLong = []string{train}, []string{valid}, "t", Padded, 2, Skip, Truncate
	})
	for tooLong, want := range map[string][]string{
		Truncate: {"data.train: 2 bad lines left out (" + train + ":4: expected 1 fields as in the header, found 2), 2 rows cut to data.length",
			"data.valid: 1 bad line left out (" + valid + ":4: expected 1 fields as in the header, found 2), 1 row cut to data.length"},
		Drop: {"data.train: 2 bad lines left out (" + train + ":4: expected 1 fields as in the header, found 2), 2 rows left out as too long",
			"data.valid: 1 bad line left out (" + valid + ":4: expected 1 fields as in the header, found 2), 1 row left out as too long"},
	} {
		s := base
		s.TooLong = tooLong
		d := open(t, s)
		if diff := cmp.Diff(want, d.Notes()); diff != "" {
			t.Error(diff)
		}
		samePrepared(t, s, d)
	}
	base.Train, base.Valid = []string{put(t, "c.csv", "t\nab\n")}, nil
	if notes := open(t, base).Notes(); notes != nil {
		t.Errorf("%q", notes)
	}
}
