package merge

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/shard"
)

// piece is a file with what it says of itself.
type piece struct {
	results.Piece
	name string
}

// shown bounds how many rows or problems of one file are named.
const shown = 10

// check returns the parts by shard, or everything that is wrong with them.
func check(parts []string) (pieces []piece, problems Problems) {
	if len(parts) == 0 {
		return nil, Problems{"expected the files of a run's shards, found none; name them all"}
	}
	whose := map[shard.Shard]string{}
	for _, name := range parts {
		p, bad := read(name)
		if bad != "" {
			problems = append(problems, name+": "+bad)
			continue
		}
		if other, twice := whose[p.Shard]; twice {
			problems = append(problems, fmt.Sprintf("%s: holds shard %s, and so does %s; name one of them", name, p.Shard, other))
			continue
		}
		whose[p.Shard] = name
		if len(pieces) > 0 {
			if different := alike(pieces[0].Piece, p.Piece); different != "" {
				problems = append(problems, fmt.Sprintf("%s: is of another run than %s: there %s; sample both with the same", name, pieces[0].name, different))
				continue
			}
		}
		pieces = append(pieces, p)
	}
	if len(pieces) > 0 {
		problems = append(problems, missing(pieces)...)
	}
	for _, p := range pieces {
		problems = append(problems, p.verify()...)
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.Shard.Index, b.Shard.Index) })
	return pieces, problems
}

// read reads what stands beside a part; bad is what is wrong.
func read(name string) (_ piece, bad string) {
	if of, ok := strings.CutSuffix(name, results.PieceFile("")); ok {
		return piece{}, "describes a shard and is read with its answers; name " + of + " alone"
	}
	if _, err := os.Stat(name); err != nil {
		return piece{}, fmt.Sprintf("cannot be read (%v); name a file of a shard's answers", errors.Unwrap(err))
	}
	if _, err := os.Stat(results.Journal(name)); err == nil {
		return piece{}, fmt.Sprintf("is unfinished (%s is there); run its command again, which goes on with it", results.Journal(name))
	}
	p, err := results.ReadPiece(name)
	if errors.Is(err, fs.ErrNotExist) {
		return piece{}, fmt.Sprintf("%s is missing, which says what run the rows are of; copy it, too, or sample with --shard", results.PieceFile(name))
	}
	if err != nil {
		return piece{}, err.Error()
	}
	return piece{p, name}, ""
}

// alike says in what the second is of another run than the first, or "".
func alike(a, b results.Piece) string {
	different := a.Differences(b)
	if a.Shard.Of != b.Shard.Of {
		different = strings.TrimPrefix(fmt.Sprintf("%s, the number of shards was %d, is %d", different, a.Shard.Of, b.Shard.Of), ", ")
	}
	return different
}

// missing names the shards that no part holds, with their rows.
func missing(pieces []piece) (problems Problems) {
	first := pieces[0]
	have := map[int64]bool{}
	for _, p := range pieces {
		have[p.Shard.Index] = true
	}
	lost := first.Shard.Of - int64(len(have))
	for i := int64(0); i < first.Shard.Of && len(problems) < shown; i++ {
		s := shard.Shard{Index: i, Of: first.Shard.Of}
		if have[i] {
			continue
		}
		rows := "no row"
		if n := s.Count(first.Rows); n > 0 {
			rows = span(s, i, i+(n-1)*s.Of)
		}
		problems = append(problems, fmt.Sprintf("shard %s is missing (%s of %d); sample it, or name its file", s, rows, first.Rows))
	}
	if more := lost - int64(len(problems)); more > 0 {
		problems = append(problems, fmt.Sprintf("%d more shards are missing", more))
	}
	return problems
}

// span names the rows of a shard from lo to hi.
func span(s shard.Shard, lo, hi int64) string {
	n := (hi-lo)/s.Of + 1
	switch {
	case n == 1:
		return fmt.Sprintf("row %d", lo)
	case n == 2:
		return fmt.Sprintf("rows %d and %d", lo, hi)
	}
	return fmt.Sprintf("rows %d, %d, ... %d: %d", lo, lo+s.Of, hi, n)
}

// are is span with its verb.
func are(s shard.Shard, lo, hi int64) string {
	if lo == hi {
		return span(s, lo, hi) + " is"
	}
	return span(s, lo, hi) + " are"
}

// verify holds the answers against their digest, and says which rows are wrong where it is another.
func (p piece) verify() Problems {
	size, digest, err := results.Sum(p.name)
	switch {
	case err != nil:
		return Problems{err.Error()}
	case size == p.Bytes && digest == p.SHA256:
		return nil
	}
	how := fmt.Sprintf("%d bytes, expected %d", size, p.Bytes)
	if size == p.Bytes {
		how = fmt.Sprintf("%d bytes as expected, and another SHA-256", size)
	}
	changed := fmt.Sprintf("%s: was changed since its shard was finished (%s); sample shard %s anew, with --overwrite", p.name, how, p.Shard)
	problems := Problems{changed}
	if p.Format() != results.JSONL {
		return problems
	}
	found, err := p.rows()
	if err != nil {
		return append(problems, err.Error())
	}
	for i, text := range found {
		if i == shown {
			problems = append(problems, fmt.Sprintf("%s: %d problems more", p.name, len(found)-shown))
			break
		}
		problems = append(problems, p.name+text)
	}
	return problems
}

// rows goes through the lines and says which are not the rows that stood there.
func (p piece) rows() (found []string, err error) {
	f, err := os.Open(p.name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	b := bufio.NewReader(f)
	say := func(format string, args ...any) {
		if len(found) < 1000 { // more help nobody
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	late := map[int64]bool{} // rows that were passed by and may stand further down; bounded by what is said
	next := p.Shard.Index
	for number := 1; ; number++ {
		text, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		var row struct {
			Index *int64
			Seed  uint64
		}
		switch bad := json.Unmarshal(text, &row); {
		case err != nil:
			say(":%d: the last line is cut off", number)
		case bad != nil || row.Index == nil:
			say(":%d: expected an answer in JSON, found %.40q", number, text)
		case !p.Shard.Holds(*row.Index) || *row.Index >= p.Rows:
			say(":%d: row %d is not in shard %s", number, *row.Index, p.Shard)
		case row.Seed != p.Seed:
			say(":%d: row %d has seed %d, expected %d", number, *row.Index, row.Seed, p.Seed)
		case late[*row.Index]:
			say(":%d: row %d stands behind row %d", number, *row.Index, next-p.Shard.Of)
			delete(late, *row.Index)
		case *row.Index < next:
			say(":%d: row %d stands there twice", number, *row.Index)
		default:
			for ; next < *row.Index; next += p.Shard.Of {
				if len(late) == 1000 {
					say(": %s missing", are(p.Shard, next, *row.Index-p.Shard.Of))
					next = *row.Index
					break
				}
				late[next] = true
			}
			next += p.Shard.Of
		}
	}
	for _, row := range slices.Sorted(maps.Keys(late)) {
		say(": %s missing", are(p.Shard, row, row))
	}
	if next < p.Rows {
		say(": %s missing", are(p.Shard, next, p.Shard.Index+(p.Shard.Count(p.Rows)-1)*p.Shard.Of))
	}
	return found, nil
}
