package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzIndex: whatever an index says, it is refused, or every record that it names lies within its shards.
func FuzzIndex(f *testing.F) {
	good := `{"mdmhost_data": 2, "spec": {"layout": "padded", "length": 8}, "dtype": "uint16", "fixed": true, "pad": 6, "vocabulary": 8, "records_per_shard": 2,
		"train": {"first": 0, "records": 3, "shards": [{"name": "a", "bytes": 42}, {"name": "b", "bytes": 21}]}}`
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"records": 3`, `"records": 9223372036854775807, "first": 9223372036854775807`, 1)))
	f.Add([]byte(strings.Replace(good, `"records_per_shard": 2`, `"records_per_shard": 9223372036854775807`, 1)))
	f.Add([]byte(strings.Replace(good, `"length": 8`, `"length": 9223372036854775807`, 1)))
	f.Add([]byte(`{"mdmhost_data": 2} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := parseIndex("index.json", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "index.json: ") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		size := x.shape().bytes()
		for _, s := range []*indexSet{x.Train, x.Valid} {
			if s == nil {
				continue
			}
			for _, at := range []int64{s.First, s.First + s.Records - 1} {
				if n := at / x.RecordsPerShard; s.Records > 0 && (n < 0 || n >= int64(len(s.Shards)) || (at%x.RecordsPerShard+1)*size > s.Shards[n].Bytes) {
					t.Errorf("record %d is in no shard", at)
				}
			}
		}
	})
}

// told collects what a reader finds, and checks that it is told in order and once.
func told(t *testing.T, read func(lines) error) (good, bad []string) {
	last := 0
	see := func(line int) {
		if line < last || line < 1 {
			t.Errorf("line %d after line %d", line, last)
		}
		last = line
	}
	err := read(lines{
		good: func(line int, values []string) error {
			see(line)
			for _, v := range values {
				if !utf8.ValidString(v) {
					t.Errorf("line %d: %q is not UTF-8", line, v)
				}
			}
			good = append(good, fmt.Sprintf("%d %q", line, values))
			return nil
		},
		bad: func(line int, text string) {
			see(line)
			bad = append(bad, fmt.Sprintf("%d %s", line, text))
		},
	})
	if err != nil && (!strings.HasPrefix(err.Error(), "f:") || len(good)+len(bad) > 0) {
		t.Errorf("error %q", err)
	}
	return good, bad
}

// FuzzCSV and FuzzJSONL: readers never fail on content but at a header, tell lines in order, and do not depend on how
// the bytes arrive.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n\"x\ny\",3\n")
	f.Add("b,a,b\n")
	f.Add("a,b\r\n\"\n\n,\"\"\n1\n\xff,2")
	f.Add("a,b\n\"x\"y,2\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		good, bad := told(t, func(to lines) error { return readCSV("f", strings.NewReader(text), []string{"b", "a"}, to) })
		again, worse := told(t, func(to lines) error {
			return readCSV("f", iotest.OneByteReader(strings.NewReader(text)), []string{"b", "a"}, to)
		})
		if !slices.Equal(good, again) || !slices.Equal(bad, worse) {
			t.Errorf("%q: %q %q, and byte by byte %q %q", text, good, bad, again, worse)
		}
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add("{\"a\": \"x\", \"b\": \"y\"}\n\n{\"a\": 1}")
	f.Add("{\"a\": \"\\ud800\", \"b\": \"\\u0000\"}\r\n[]\nnull\n{")
	f.Add("\xff\n{\"a\":\"1\",\"a\":\"2\",\"b\":\"\"} {}")
	f.Fuzz(func(t *testing.T, text string) {
		good, bad := told(t, func(to lines) error { return readJSONL(strings.NewReader(text), []string{"b", "a"}, to) })
		if n := len(strings.Split(text, "\n")); len(good)+len(bad) > n {
			t.Errorf("%q: %d records of %d lines", text, len(good)+len(bad), n)
		}
		again, worse := told(t, func(to lines) error {
			return readJSONL(iotest.OneByteReader(strings.NewReader(text)), []string{"b", "a"}, to)
		})
		if !slices.Equal(good, again) || !slices.Equal(bad, worse) {
			t.Errorf("%q: %q %q, and byte by byte %q %q", text, good, bad, again, worse)
		}
	})
}

// FuzzText: blocks are the text, cut between characters.
func FuzzText(f *testing.F) {
	f.Add("a\nb", uint(40_000))
	f.Add("日", uint(30_000))
	f.Add("\xff\x80", uint(40_000))
	f.Fuzz(func(t *testing.T, part string, times uint) {
		text := strings.Repeat(part, int(times%100_000)%(1+400_000/max(1, len(part))))
		var all strings.Builder
		line := 1
		err := readText(strings.NewReader(text), func(at int, block []byte) error {
			if at != line || len(block) == 0 || utf8.ValidString(text) && !utf8.Valid(block) {
				t.Errorf("a block of %d bytes at line %d, want line %d", len(block), at, line)
			}
			line += strings.Count(string(block), "\n")
			all.Write(block)
			return nil
		})
		if err != nil || all.String() != text {
			t.Errorf("%d bytes of %d, %v", all.Len(), len(text), err)
		}
	})
}
