package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

const rows = 12

func row(i int64) Row {
	r := sampling.Result{
		Index: i, Tokens: []int32{12, int32(i), 13}, Finish: sampling.FinishComplete, NFE: 3, Steps: 4, Elapsed: 1234567 * time.Nanosecond,
		StepMap: []int32{-1, 0, -1}, Logp: []float32{0, float32(math.NaN()), -0.25},
	}
	return NewRow(r, 7, fmt.Sprintf("C<%d>&é", i)).WithDetails(r, map[string]string{"model": "sha256:ab"})
}

func ended(i int64, how sampling.Finish) Row {
	return NewRow(sampling.Result{Index: i, Finish: how, Err: errors.New("why")}, 7, "")
}

func options(f Format) Options {
	return Options{Format: f, Rows: rows, Seed: 7, Settings: map[string]string{"planner.gamma": "0.1", "num": "4"}}
}

func straight(t *testing.T, f Format) string { return part(t, f, shard.Shard{}) }

func part(t testing.TB, f Format, of shard.Shard) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, "out", f, rows, of)
	for i := of.Index; i < rows; i += of.Stride() {
		if err := w.Put(row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLine(t *testing.T) {
	want := `{"index":1,"seed":7,"text":"C<1>&é","tokens":[12,1,13],"length":3,"nfe":3,"steps":4,"finish":"complete","ms":1.235,` +
		`"step_map":[-1,0,-1],"logp":[0,null,-0.25],"digests":{"model":"sha256:ab"}}`
	lines := strings.Split(straight(t, JSONL), "\n")
	if diff := cmp.Diff(want, lines[1]); diff != "" {
		t.Error(diff)
	}
	text, err := ended(2, sampling.FinishError).render(JSONL)
	want = `{"index":2,"seed":7,"text":"","tokens":[],"length":0,"nfe":0,"steps":0,"finish":"error","ms":0,"error":"why"}` + "\n"
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}

// Rows finish in any order, the run is killed or interrupted anywhere, and goes on: in the end the file is that of a
// straight run, and no row that had finished is asked for again. Beside that of a shard stands what it is of.
func TestResume(t *testing.T) {
	for _, format := range []Format{Text, JSONL} {
		parts := map[shard.Shard]string{}
		for _, of := range []shard.Shard{{}, {Index: 1, Of: 4}, {Index: 2, Of: 3}} {
			parts[of] = part(t, format, of)
		}
		rapid.Check(t, func(t *rapid.T) {
			of := rapid.SampledFrom([]shard.Shard{{}, {}, {Index: 1, Of: 4}, {Index: 2, Of: 3}}).Draw(t, "shard")
			want, count, o := parts[of], int(of.Count(rows)), options(format)
			o.Shard = of
			dir, err := os.MkdirTemp("", "resume")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path := filepath.Join(dir, "out")
			done := map[int64]bool{}
			for len(done) < count {
				w, err := Create(path, o)
				if err != nil {
					t.Fatal(err)
				}
				if w.Resumed() != len(done) {
					t.Fatalf("%d rows had finished, %d were found", len(done), w.Resumed())
				}
				var left []int64
				for i := of.Index; i < rows; i += of.Stride() {
					if w.Kept(i) != done[i] {
						t.Fatalf("row %d: kept %v, done %v", i, w.Kept(i), done[i])
					}
					if !done[i] {
						left = append(left, i)
					}
				}
				order := rapid.Permutation(left).Draw(t, "order")
				stop := rapid.IntRange(0, len(order)).Draw(t, "stop")
				for _, i := range order[:stop] {
					r := row(i)
					how := rapid.SampledFrom([]sampling.Finish{"complete", "complete", "complete", "error", "cancelled"}).Draw(t, "finish")
					if r.Finish = how; !r.finished() {
						r = ended(i, how)
					} else {
						done[i] = true
					}
					if err := w.Put(r); err != nil {
						t.Fatal(err)
					}
				}
				if rapid.Bool().Draw(t, "killed") && len(done) < count {
					_ = w.file.lock.Unlock()
					continue
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			got, _ := os.ReadFile(path)
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Fatal(diff)
			}
			left, _ := filepath.Glob(path + ".*")
			if of.Whole() && len(left) > 0 || !of.Whole() && !cmp.Equal(left, []string{PieceFile(path)}) {
				t.Fatalf("left behind: %v", left)
			}
			if of.Whole() {
				return
			}
			if p, err := ReadPiece(path); err != nil || p.Shard != of || p.Rows != rows || p.Bytes != int64(len(want)) || p.Differences(Piece{Rows: rows, Seed: 7, Settings: o.Settings}) != "" {
				t.Fatalf("%+v, %v", p, err)
			}
		})
	}
}

func TestInterruptedRowsAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	w, err := Create(path, options(JSONL))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Row{row(0), row(3), ended(1, sampling.FinishCancelled)} {
		if err := w.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	var got []string
	for line := range strings.Lines(string(text)) {
		var r Row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(r.Index, " ", r.Finish))
	}
	if diff := cmp.Diff([]string{"0 complete", "1 cancelled", "3 complete"}, got); diff != "" {
		t.Error(diff)
	}
	if seed, err := Peek(path, false); err != nil || seed == nil || *seed != 7 {
		t.Errorf("seed %v, %v", seed, err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	begin := func(o Options) error {
		w, err := Create(path, o)
		if err == nil {
			t.Cleanup(func() { _ = w.Close() })
		}
		return err
	}
	w, err := Create(path, options(JSONL))
	if err != nil {
		t.Fatal(err)
	}
	expect := func(name string, err error, want string) {
		t.Helper()
		var refused *Refused
		if !errors.As(err, &refused) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: expected %q, found %v", name, want, err)
		}
	}
	expect("locked", begin(options(JSONL)), "another process is writing it; wait for that, or name another file")
	if err := errors.Join(w.Put(row(0)), w.Close()); err != nil {
		t.Fatal(err)
	}
	other := options(JSONL)
	other.Seed, other.Settings = 8, map[string]string{"planner.gamma": "0.2", "num": "4", "planner.k": "1"}
	expect("settings", begin(other), "was begun with other settings: planner.gamma was 0.1, is 0.2, planner.k was not given, is 1, seed was 7, is 8; run with those, name another file, or add --overwrite")
	if text, _ := os.ReadFile(path); !strings.HasPrefix(string(text), `{"index":0`) {
		t.Errorf("refusing changed the file: %q", text)
	}
	if err := os.WriteFile(path+".resume", []byte("{}x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("journal", begin(options(JSONL)), "is not the journal of an interrupted run; remove it, or name another file")
	if err := os.Remove(path + ".resume"); err != nil {
		t.Fatal(err)
	}
	expect("complete", begin(options(JSONL)), "so there is nothing to go on with; name another file, or add --overwrite to replace it")
	over := options(JSONL)
	over.Overwrite = true
	if err := begin(over); err != nil {
		t.Error(err)
	}
	if _, err := Peek(filepath.Join(dir, "no", "out"), false); err == nil {
		t.Error("missing directory accepted")
	}
	if _, err := Peek(dir, false); err == nil {
		t.Error("directory accepted")
	}
	if _, err := Create("/dev/null", options(Text)); err != nil {
		t.Error(err)
	}
}

// faulty fails its n-th operation from the left on, each write half-way.
type faulty struct{ left *int }

type faultyFile struct {
	file
	left *int
}

func (d faulty) OpenFile(name string, flag int, perm os.FileMode) (file, error) {
	if d.fails() {
		return nil, syscall.ENOSPC
	}
	f, err := realDisk{}.OpenFile(name, flag, perm)
	return faultyFile{f, d.left}, err
}

func (d faulty) fails() bool { *d.left--; return *d.left < 0 }

func (f faultyFile) Write(b []byte) (int, error) {
	if (faulty{f.left}).fails() {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.file.Write(b)
}

// Whichever operation finds the disk full, the file holds whole rows only, and a run with room finishes it.
func TestEveryOperationFindsTheDiskFull(t *testing.T) {
	for _, format := range []Format{Text, JSONL} {
		want := straight(t, format)
		for n := 0; ; n++ {
			path, left := filepath.Join(t.TempDir(), "out"), n
			o := options(format)
			o.disk = faulty{&left}
			w, err := Create(path, o)
			done := 0
			if err == nil {
				for _, i := range []int64{1, 0, 2, 5, 4, 3, 11, 10, 9, 8, 7, 6} {
					if err = w.Put(row(i)); err != nil {
						break
					}
					done++
				}
				err = errors.Join(err, w.Close())
			}
			if err == nil {
				if n < 10 {
					t.Fatalf("only %d operations were tried", n)
				}
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("operation %d: %v", n, err)
			}
			if text, _ := os.ReadFile(path); !strings.HasPrefix(want, string(text)) || (len(text) > 0 && !bytes.HasSuffix(text, []byte("\n"))) {
				t.Fatalf("operation %d: the file holds %q", n, text)
			}
			if w, err = Create(path, options(format)); err != nil {
				t.Fatalf("operation %d: %v", n, err)
			}
			if w.Resumed() < done {
				t.Fatalf("operation %d: %d rows had been taken, %d were found", n, done, w.Resumed())
			}
			for i := range int64(rows) {
				if !w.Kept(i) {
					err = errors.Join(err, w.Put(row(i)))
				}
			}
			text, _ := os.ReadFile(path)
			if err = errors.Join(err, w.Close()); err != nil || string(text) != want {
				t.Fatalf("operation %d: %v, file %q", n, err, text)
			}
		}
	}
}

// The same on a real file system of 64 KiB, where the tests may mount one.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root (%v); TestEveryOperationFindsTheDiskFull covers the same", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "out.jsonl")
	o := options(JSONL)
	o.Rows = 5000
	w, err := Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for ; err == nil && n < o.Rows; n++ {
		err = w.Put(row(n))
	}
	want := fmt.Sprintf("no space left on device; %d of 5000 rows are kept: make room and run the same command again to go on", n-1)
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("expected %q, found %v", want, err)
	}
	_ = w.Close()
	if w, err = Create(path, o); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	} else if err == nil {
		_ = w.Close()
	}
	if text, _ := os.ReadFile(path); int64(bytes.Count(text, []byte("\n"))) != n-1 || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("%d lines of %d rows", bytes.Count(text, []byte("\n")), n-1)
	}
}

// A row without an answer is no line of text: an empty line would read as an empty answer.
func TestTextLeavesOutRowsWithoutAnswer(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, "out", Text, 3, shard.Shard{})
	for i, finish := range []sampling.Finish{sampling.FinishComplete, sampling.FinishCancelled, sampling.FinishComplete} {
		if err := w.Put(Row{Index: int64(i), Text: fmt.Sprint("row ", i), Finish: finish}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("row 0\nrow 2\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

// What not every run counts stands behind the rest, and comes back when the run is resumed.
func TestCountsOfFrames(t *testing.T) {
	until := 0
	r := NewRow(sampling.Result{Tokens: []int32{1}, NFE: 9, Partial: 4, Steps: 9, Finish: sampling.FinishStop}, 7, "a")
	r.NFEUntil = &until
	text, err := r.render(JSONL)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"index":0,"seed":7,"text":"a","tokens":[1],"length":1,"nfe":9,"steps":9,"finish":"stop","ms":0,"nfe_until":0,"nfe_partial":4}` + "\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	var back Row
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Error(diff)
	}
}
