package merge

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// tester is what tests and properties have in common.
type tester interface {
	Helper()
	Fatal(...any)
}

// run is a run whose answers are known without a model.
type run struct {
	format results.Format
	rows   int64
	seed   uint64
	gamma  string
}

func (r run) row(i int64) results.Row {
	text := fmt.Sprintf("<%d>", i)
	if i%3 == 1 {
		text += strings.Repeat("\n", int(i%5))
	}
	return results.NewRow(sampling.Result{Index: i, Tokens: []int32{int32(i)}, Finish: sampling.FinishComplete}, r.seed, text)
}

// write samples the rows of a shard into path, and leaves an unfinished file where it is to stop before the last.
func (r run) write(t tester, path string, of shard.Shard, unfinished bool) {
	t.Helper()
	w, err := results.Create(path, results.Options{Format: r.format, Rows: r.rows, Shard: of, Seed: r.seed, Overwrite: true,
		Settings: map[string]string{"format": string(r.format), "planner.gamma": r.gamma, "shard": of.String()}})
	if err != nil {
		t.Fatal(err)
	}
	last := of.Index + (of.Count(r.rows)-1)*of.Stride()
	for i := of.Index; i < r.rows && !(unfinished && i == last); i += of.Stride() {
		if err := w.Put(r.row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// parts writes all shards into dir and returns their files.
func (r run) parts(t tester, dir string, n int64) (parts []string) {
	for i := range n {
		parts = append(parts, filepath.Join(dir, fmt.Sprintf("part-%02d", i)))
		r.write(t, parts[i], shard.Shard{Index: i, Of: n}, false)
	}
	return parts
}

func (r run) whole(t tester) string {
	t.Helper()
	var b bytes.Buffer
	w := results.NewWriter(&b, "whole", r.format, r.rows, shard.Shard{})
	for i := range r.rows {
		if err := w.Put(r.row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever the number of shards and the order of their files, what is merged is what one process writes; texts of several lines stay whole.
func TestMergedIsOneRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "merge")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		r := run{format: rapid.SampledFrom([]results.Format{results.Text, results.JSONL}).Draw(t, "format"), rows: rapid.Int64Range(0, 40).Draw(t, "rows"), seed: 1<<63 + 5}
		n := rapid.Int64Range(1, 9).Draw(t, "shards")
		out := filepath.Join(dir, "all")
		got, err := Files(out, rapid.Permutation(r.parts(t, dir, n)).Draw(t, "order"), false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Result{r.rows, n, r.seed}, got); diff != "" {
			t.Error(diff)
		}
		text, err := os.ReadFile(out)
		if diff := cmp.Diff(r.whole(t), string(text)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// Everything that is wrong is told at once, and nothing is written.
func TestProblems(t *testing.T) {
	r := run{format: results.JSONL, rows: 30, seed: 7, gamma: "0.1"}
	change := func(path string, how func(lines []string) []string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Join(how(strings.SplitAfter(string(text), "\n")), "")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(dir string, parts []string) []string
		want  []string
	}{
		"missing": {func(_ string, parts []string) []string { return parts[1:3] }, []string{
			"shard 0/4 is missing (rows 0, 4, ... 28: 8 of 30); sample it, or name its file",
			"shard 3/4 is missing (rows 3, 7, ... 27: 7 of 30); sample it, or name its file"}},
		"others": {func(dir string, parts []string) []string {
			other := r
			other.seed, other.gamma = 8, "0.2"
			other.write(t, parts[1], shard.Shard{Index: 1, Of: 4}, false)
			r.write(t, parts[2], shard.Shard{Index: 2, Of: 5}, false)
			r.write(t, parts[3], shard.Shard{Index: 3, Of: 4}, true)
			return append(parts, parts[0])
		}, []string{
			"DIR/part-01: is of another run than DIR/part-00: there planner.gamma was 0.1, is 0.2, seed was 7, is 8; sample both with the same",
			"DIR/part-02: is of another run than DIR/part-00: there the number of shards was 4, is 5; sample both with the same",
			"DIR/part-03: is unfinished (DIR/part-03.resume is there); run its command again, which goes on with it",
			"DIR/part-00: holds shard 0/4, and so does DIR/part-00; name one of them",
			"shard 1/4 is missing (rows 1, 5, ... 29: 8 of 30); sample it, or name its file",
			"shard 2/4 is missing (rows 2, 6, ... 26: 7 of 30); sample it, or name its file",
			"shard 3/4 is missing (rows 3, 7, ... 27: 7 of 30); sample it, or name its file"}},
		"files": {func(dir string, parts []string) []string {
			if err := errors.Join(os.Remove(results.PieceFile(parts[1])), os.Remove(parts[2])); err != nil {
				t.Fatal(err)
			}
			return []string{parts[0], parts[1], parts[2], results.PieceFile(parts[3]), parts[3]}
		}, []string{
			"DIR/part-01: DIR/part-01.shard is missing, which says what run the rows are of; copy it, too, or sample with --shard",
			"DIR/part-02: cannot be read (no such file or directory); name a file of a shard's answers",
			"DIR/part-03.shard: describes a shard and is read with its answers; name DIR/part-03 alone",
			"shard 1/4 is missing (rows 1, 5, ... 29: 8 of 30); sample it, or name its file",
			"shard 2/4 is missing (rows 2, 6, ... 26: 7 of 30); sample it, or name its file"}},
		"lines": {func(_ string, parts []string) []string {
			change(parts[0], func(l []string) []string { return append(l[:2:2], l[1], l[4], l[3], l[5], "{}\n", l[6]) })
			change(parts[1], func(l []string) []string { l[7] = l[7][:9]; return l })
			change(parts[2], func(l []string) []string {
				l[0] = strings.Replace(l[0], `"seed":7`, `"seed":9`, 1)
				l[6] = strings.Replace(l[6], `"index":26`, `"index":27`, 1)
				return l
			})
			return parts
		}, []string{
			"DIR/part-00: was changed since its shard was finished (N bytes, expected N); sample shard 0/4 anew, with --overwrite",
			"DIR/part-00:3: row 4 stands there twice",
			"DIR/part-00:5: row 12 stands behind row 16",
			`DIR/part-00:7: expected an answer in JSON, found "{}\n"`,
			"DIR/part-00: row 8 is missing",
			"DIR/part-00: row 28 is missing",
			"DIR/part-01: was changed since its shard was finished (N bytes, expected N); sample shard 1/4 anew, with --overwrite",
			"DIR/part-01:8: the last line is cut off",
			"DIR/part-01: row 29 is missing",
			"DIR/part-02: was changed since its shard was finished (N bytes as expected, and another SHA-256); sample shard 2/4 anew, with --overwrite",
			"DIR/part-02:1: row 2 has seed 9, expected 7",
			"DIR/part-02:7: row 27 is not in shard 2/4",
			"DIR/part-02: row 2 is missing",
			"DIR/part-02: row 26 is missing"}},
	} {
		dir := t.TempDir()
		out := filepath.Join(dir, "all")
		_, err := Files(out, c.spoil(dir, r.parts(t, dir, 4)), false)
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.ReplaceAll(strings.Join(problems, "\n"), dir, "DIR")
		for _, n := range []string{"(", "expected "} {
			for i := range 3000 {
				got = strings.ReplaceAll(got, fmt.Sprintf("%s%d bytes", n, i), n+"N bytes")
			}
		}
		for i := range 3000 {
			got = strings.ReplaceAll(got, fmt.Sprintf("bytes, expected %d)", i), "bytes, expected N)")
		}
		if diff := cmp.Diff(strings.Join(c.want, "\n"), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestRefusals(t *testing.T) {
	r, dir := run{format: results.Text, rows: 5}, t.TempDir()
	parts := r.parts(t, dir, 2)
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{
		"there": "exists; name another file, or add --overwrite", "part-01": "is to be merged and to take what is merged", "": "is no regular file", "no/all": "its directory",
	} {
		_, err := Files(filepath.Join(dir, out), parts, false)
		var refused *results.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: expected %q, found %v", out, want, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "there")); string(text) != "precious" {
		t.Errorf("the file holds %q", text)
	}
	if _, err := Files(filepath.Join(dir, "there"), parts, true); err != nil {
		t.Error(err)
	}
}

// Memory does not grow with the rows: 40,000 rows of 8 MB pass through less than one.
func TestMemoryStaysBounded(t *testing.T) {
	r, dir := run{format: results.JSONL, rows: 40_000}, t.TempDir()
	parts := r.parts(t, dir, 4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Files(filepath.Join(dir, "all"), parts, false); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("merging %d rows allocated %d bytes in all", r.rows, grown)
	}
}
