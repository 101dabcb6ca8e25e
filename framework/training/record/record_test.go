package record

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func line(step int64) Line {
	return Line{
		Kind: Train, Step: step, Loss: 4.2 / float64(step+1), BitsPerToken: 6.0 / float64(step+1), LR: 3e-4, GradNorm: 1.25, Rows: 64 * step, Tokens: 4096 * step,
		TokensPerSecond: 51234, Seconds: 0.125 * float64(step), Metrics: map[string]float64{"masked": 0.5, "<acc>": 0.25},
	}
}

func evaluation(step int64) Line {
	return Line{Kind: Eval, Step: step, Loss: 2, BitsPerToken: 3, Rows: 64 * step, Tokens: 4096 * step, Seconds: float64(step)}
}

func text(t *testing.T, l Line) string {
	t.Helper()
	b, err := l.encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLines(t *testing.T) {
	bad := line(3)
	bad.Loss, bad.GradNorm, bad.TokensPerSecond, bad.Metrics = math.NaN(), math.Inf(1), 0, map[string]float64{"x": math.Inf(-1)}
	for want, l := range map[string]Line{
		`{"kind":"train","step":1,"loss":2.1,"bits_per_token":3,"lr":0.0003,"grad_norm":1.25,"rows":64,"tokens":4096,"tokens_per_s":51234,"seconds":0.125,"metrics":{"<acc>":0.25,"masked":0.5}}`: line(1),
		`{"kind":"eval","step":2,"loss":2,"bits_per_token":3,"rows":128,"tokens":8192,"seconds":2}`:                                                                                               evaluation(2),
		`{"kind":"train","step":3,"loss":null,"bits_per_token":1.5,"lr":0.0003,"grad_norm":null,"rows":192,"tokens":12288,"seconds":0.375,"metrics":{"x":null}}`:                                  bad,
	} {
		got := text(t, l)
		if diff := cmp.Diff(want+"\n", got); diff != "" {
			t.Error(diff)
		}
		again, err := decode([]byte(got))
		if err != nil {
			t.Fatal(err)
		}
		if l.Step == 3 {
			l.GradNorm, l.Metrics["x"] = math.NaN(), math.NaN()
		}
		if diff := cmp.Diff(l, again, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := (Line{Kind: "test"}).encode(); err == nil {
		t.Error("another kind was accepted")
	}
}

// A run is killed anywhere, in the middle of a line too, and goes on from its last checkpoint: the file becomes that of an
// undisturbed run.
func TestResume(t *testing.T) {
	const steps, every = 20, 4 // a checkpoint and an evaluation every so many steps
	var want strings.Builder
	for step := range int64(steps + 1) {
		want.WriteString(text(t, line(step)))
		if step%every == 0 {
			want.WriteString(text(t, evaluation(step)))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "record")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "metrics.jsonl")
		for checkpoint := int64(-1); checkpoint < steps; {
			w, kept, err := Open(path, checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			if len(kept) > 0 && kept[len(kept)-1].Step != checkpoint {
				t.Fatalf("the last line kept is of step %d, the checkpoint of %d", kept[len(kept)-1].Step, checkpoint)
			}
			stop := rapid.Int64Range(checkpoint+1, steps+3).Draw(t, "stop")
			synced := w.size
			for step := checkpoint + 1; step <= min(stop, steps); step++ {
				err = errors.Join(err, w.Write(line(step)))
				if step%every == 0 {
					err = errors.Join(err, w.Write(evaluation(step)))
					checkpoint, synced = step, w.size
				}
			}
			size := w.size
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, rapid.Int64Range(synced, size).Draw(t, "torn")); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(path); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTornAndBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	one, two := text(t, line(1)), text(t, line(2))
	for _, c := range []struct{ name, content, kept, want string }{
		{"half", one + two[:20], one, ""},
		{"no newline", one + two[:len(two)-1], one, ""},
		{"zeros", one + "\x00\x00\x00\n", one, ""},
		{"middle", one + "oops\n" + two, "", path + `:2: malformed JSON: invalid character 'o' looking for beginning of value; remove that line`},
		{"kind", one + "{}\n" + two, "", path + `:2: has kind "", expected "train" or "eval"; remove that line`},
		{"step", one + `{"kind":"eval"}` + "\n" + two, "", path + `:2: has no step, expected a number from 0 on; remove that line`},
		{"order", two + one, "", path + `:2: is of step 1 after one of step 2; the file holds two runs: move it away`},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		w, kept, err2 := Open(path, 5)
		if c.want != "" {
			if err == nil || err.Error() != c.want || err2 == nil || err2.Error() != c.want {
				t.Errorf("%s: found %v and %v\nexpected %s", c.name, err, err2, c.want)
			}
			if left, _ := os.ReadFile(path); string(left) != c.content {
				t.Errorf("%s: refusing changed the file", c.name)
			}
			continue
		}
		if err := errors.Join(err, err2); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if left, _ := os.ReadFile(path); string(left) != c.kept || len(kept) != 1 {
			t.Errorf("%s: kept %q", c.name, left)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStepsInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w, _, err := Open(path, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(line(2)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(line(1)); err == nil || err.Error() != path+": line of step 1 after one of step 2, expected steps in order" {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// full has room for so many bytes.
type full struct {
	file
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n := min(f.room, len(b))
	f.room -= n
	written, err := f.file.Write(b[:n])
	if n < len(b) {
		err = syscall.ENOSPC
	}
	return written, err
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	w, _, err := Open(path, -1)
	if err != nil {
		t.Fatal(err)
	}
	disk := &full{w.file, 500}
	w.file = disk
	step := int64(0)
	for ; err == nil; step++ {
		err = w.Write(line(step))
	}
	if want := path + ": no space left on device; the lines before it are kept: make room and run the same command again to go on"; err.Error() != want {
		t.Errorf("found %v\nexpected %s", err, want)
	}
	disk.room = 1 << 20
	if err := errors.Join(w.Write(line(step)), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	var want strings.Builder
	for s := range step - 1 {
		want.WriteString(text(t, line(s)))
	}
	want.WriteString(text(t, line(step)))
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Error(diff)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(`{"kind":"train","step":1,"loss":null,"metrics":{"a":null}}` + "\n" + `{"kind":"eval","step":2}` + "\n" + `{"kind"`)
	f.Add("{\"kind\":\"eval\",\"step\":3,\"lr\":1e999}\n")
	f.Fuzz(func(t *testing.T, content string) {
		lines, size, err := scan("m", strings.NewReader(content), 1<<40)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "m:") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		var again strings.Builder
		for _, l := range lines {
			b, err := l.encode()
			if err != nil {
				t.Fatal(err)
			}
			again.Write(b)
		}
		read, n, err := scan("m", strings.NewReader(again.String()), 1<<40)
		if err != nil || n != int64(again.Len()) || len(read) != len(lines) || size > int64(len(content)) {
			t.Fatal(fmt.Sprint(err, n, again.Len(), len(read), len(lines)))
		}
	})
}
