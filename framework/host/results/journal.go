package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// Journal is the name of path's journal, FILE.resume: JSON lines with a header, then every answer that FILE cannot hold
// yet. With text answers it holds every row, since text alone does not tell where a row ends.
func Journal(path string) string { return path + ".resume" }

type header struct {
	Seed     uint64            `json:"seed"`
	Rows     int64             `json:"rows"`
	Settings map[string]string `json:"settings"`
}

// differences says in which settings now departs from h, or "".
func (h header) differences(now header) string {
	was, is := maps.Clone(h.Settings), maps.Clone(now.Settings)
	if was == nil {
		was = map[string]string{}
	}
	if is == nil {
		is = map[string]string{}
	}
	was["seed"], is["seed"] = fmt.Sprint(h.Seed), fmt.Sprint(now.Seed)
	was["rows"], is["rows"] = fmt.Sprint(h.Rows), fmt.Sprint(now.Rows)
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was[key] != is[key] {
			out = append(out, fmt.Sprintf("%s was %s, is %s", key, orNothing(was[key]), orNothing(is[key])))
		}
	}
	return strings.Join(out, ", ")
}

func orNothing(s string) string {
	if s == "" {
		return "not given"
	}
	return s
}

// readJournal returns the header and the answers of path's journal. A record that was not written to its end is left out.
func readJournal(path string) (header, map[int64]Row, error) {
	rows := map[int64]Row{}
	f, err := os.Open(Journal(path))
	if err != nil {
		return header{}, rows, err
	}
	defer f.Close() //nolint:errcheck // only read
	var head *header
	err = eachLine(f, func(text []byte) {
		var r Row
		switch {
		case head == nil:
			head = &header{Rows: -1}
			if json.Unmarshal(text, head) != nil {
				head.Rows = -1
			}
		case json.Unmarshal(text, &r) == nil && r.finished() && r.Index >= 0 && r.Index < head.Rows:
			rows[r.Index] = r
		}
	})
	if err != nil {
		return header{}, nil, fmt.Errorf("%s: %w", Journal(path), err)
	}
	if head == nil || head.Rows < 0 {
		return header{}, nil, &Refused{Journal(path), "is not the journal of an interrupted run; remove it, or name another file"}
	}
	return *head, rows, nil
}

// startJournal replaces path's journal in one go by one that holds rows, and returns it open for more.
func startJournal(d disk, path string, head header, rows map[int64]Row) (*log, error) {
	part := Journal(path) + ".part"
	f, err := d.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	l := &log{file: f}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	err = e.Encode(head)
	for _, i := range slices.Sorted(maps.Keys(rows)) {
		err = errors.Join(err, e.Encode(rows[i]))
	}
	if err == nil {
		_, err = l.Write(b.Bytes())
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(part, Journal(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(part))
	}
	return l, nil
}

// eachLine calls do with every complete line.
func eachLine(r io.Reader, do func(text []byte)) error {
	b := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(text)
	}
}
