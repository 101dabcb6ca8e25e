// Package shard says which rows of a run one of several processes samples.
//
// Shard i of n has the rows i, i+n, i+2n, ... of the run. Rows keep their numbers, and noise is keyed by those, so that the run is the
// same however many processes share it. Taking every n-th row gives each of them the same share of long and short rows, and of all samples
// of one prompt, whatever order the prompts come in; and answers are merged by reading a line of each file in turn.
package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of several parts of a run. The zero value is the whole run.
type Shard struct {
	Index int64 // from 0
	Of    int64 // shards of the run; 0: it is not sharded
}

// Most is the largest number of shards: as many as a run may have rows.
const Most = 10_000_000

// Parse reads "i/n", with i from 0 to n-1; an empty text is the whole run.
func Parse(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, bad := strconv.ParseUint(of, 10, 31)
	if !ok || err != nil || bad != nil || n < 1 || n > Most || i >= n {
		return Shard{}, fmt.Errorf("expected the number of a shard and how many there are, i/n with i from 0 to n-1, such as 0/4, found %q", text)
	}
	return Shard{int64(i), int64(n)}, nil
}

// String is "i/n", "" of the whole run.
func (s Shard) String() string {
	if s.Whole() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// MarshalText is String, for JSON.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [Parse].
func (s *Shard) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// Whole tells whether the run is not sharded.
func (s Shard) Whole() bool { return s.Of == 0 }

// Stride is the distance of two neighbouring rows.
func (s Shard) Stride() int64 { return max(s.Of, 1) }

// Holds tells whether a row is in the shard.
func (s Shard) Holds(row int64) bool { return row >= s.Index && (row-s.Index)%s.Stride() == 0 }

// Count returns how many of a run's rows are in the shard.
func (s Shard) Count(rows int64) int64 {
	return max(0, (rows-s.Index+s.Stride()-1)/s.Stride())
}
