package shard

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, bad := range []string{"1", "/", "4/4", "-1/2", "0/0", "1/2/3", "a/2", "1/b", " 0/2", "0/99999999999", "0/20000000"} {
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "i/n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if s, err := Parse(""); err != nil || !s.Whole() || s.Count(7) != 7 || !s.Holds(6) || s.Stride() != 1 {
		t.Errorf("the whole run: %+v, %v", s, err)
	}
}

// Every row is in exactly one shard, as many are counted as are held, and texts come back.
func TestPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, n := rapid.Int64Range(0, 200).Draw(t, "rows"), rapid.Int64Range(1, 50).Draw(t, "shards")
		holders := make([]int, rows)
		for i := range n {
			s := Shard{i, n}
			back, err := Parse(s.String())
			if err != nil || back != s {
				t.Fatalf("%v came back as %v, %v", s, back, err)
			}
			count := int64(0)
			for row := range rows {
				if s.Holds(row) {
					holders[row]++
					count++
				}
			}
			if s.Count(rows) != count {
				t.Fatalf("%v: %d rows counted of %d, %d held", s, s.Count(rows), rows, count)
			}
		}
		for row, h := range holders {
			if h != 1 {
				t.Fatalf("row %d is in %d shards", row, h)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0/1", "3/4", "4/3", "x/y", "1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if back, err := Parse(s.String()); err != nil || back != s {
			t.Errorf("%q is %+v, and back %+v, %v", text, s, back, err)
		}
	})
}
