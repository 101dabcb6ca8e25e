package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/train"
)

func scores(t *testing.T, o train.ScoreOptions, lines string, settings ...string) ([]train.Score, error) {
	t.Helper()
	cfg, err := load(append(settings, "runtime.threads=1")...)
	must(t, err)
	texts, err := train.ReadTexts("lines", strings.NewReader(lines))
	if err != nil {
		return nil, err
	}
	var out []train.Score
	_, err = train.Scores(context.Background(), cfg, host.Options{InProcess: true}, o, texts, func(s train.Score) error {
		if s.Index != len(out) {
			t.Errorf("text %d comes at place %d", s.Index, len(out))
		}
		out = append(out, s)
		return nil
	}, train.Streams{Err: os.Stderr})
	return out, err
}

// TestScores: of an exact denoiser they are the joint's, given a prompt or not, blanks or not; estimates are within five of
// their own standard errors, with a false alarm in 100,000.
func TestScores(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	const lines = `{"text": "abca"}
{"prompt": "ab", "text": "cc"}

{"tokens": [2, 0, 0, 1]}
{"infill": "a[MASK][MASK]b", "answer": "acab"}`
	want := []float64{-math.Log(j.P["abca"]), -math.Log(j.P["abcc"] / j.given("ab..")), -math.Log(j.P["caab"]), -math.Log(j.P["acab"] / j.given("a..b"))}
	exact, err := scores(t, train.ScoreOptions{Draws: 1, Exact: true}, lines, "model="+j.dir)
	must(t, err)
	estimate, err := scores(t, train.ScoreOptions{Draws: 400}, lines, "model="+j.dir)
	must(t, err)
	for i, w := range want {
		if math.Abs(exact[i].Nats.Value-w) > 1e-5 || math.Abs(-*exact[i].LogLikelihood-w) > 1e-5 {
			t.Errorf("text %d: exactly %v, log-likelihood %v, want %v", i, exact[i].Nats, *exact[i].LogLikelihood, w)
		}
		if got := estimate[i].Nats; math.Abs(got.Value-w) > 5*got.Error || got.Error > 0.1*w {
			t.Errorf("text %d: %v, want %v", i, got, w)
		}
		if n := []int{4, 2, 4, 2}[i]; estimate[i].Tokens != n || estimate[i].Characters != n || estimate[i].Kind != "bound" {
			t.Errorf("text %d: %+v", i, estimate[i])
		}
	}
	if exact[3].Text != "acab" || exact[0].Draws != 0 || estimate[0].Draws != 400 {
		t.Errorf("%+v", exact)
	}
}

// TestScoresAreOfTheTextAlone: neighbours, their lengths and the number of rows that share a pass change nothing.
func TestScoresAreOfTheTextAlone(t *testing.T) {
	o := train.ScoreOptions{Draws: 6}
	all, err := scores(t, o, `{"text": "CCCCCCCCCCCCCCCCCCCCO"}
{"text": "CCO"}
{"text": "c1ccccc1"}`)
	must(t, err)
	one, err := scores(t, o, `{"text": "CCO"}`)
	must(t, err)
	all[1].Index = 0
	if diff := cmp.Diff(one[0], all[1]); diff != "" {
		t.Error(diff)
	}
	split, err := scores(t, o, `{"text": "CCO"}`, "train.batch=4")
	must(t, err)
	if got, want := split[0].Nats.Value, one[0].Nats.Value; math.Abs(got-want) > 1e-4*want {
		t.Errorf("%v in passes of 4 draws, %v in one of 6", got, want)
	}
	other, err := scores(t, o, `{"text": "CCO"}`, "seed=1")
	must(t, err)
	if other[0].Nats == one[0].Nats {
		t.Error("another seed changed nothing")
	}
}

// TestTextsRefused: every bad line is told, with what to do.
func TestTextsRefused(t *testing.T) {
	_, err := scores(t, train.ScoreOptions{Draws: 1}, `{"tex": "a"}
{"text": 1}
{"tokens": ["a"]}
{"text": "a", "tokens": [1]}
{"prompt": "a"}
{"infill": "a"}
[]
{"text": null}
{}`)
	wantError(t, err, "lines: 9 problems", "lines:1: tex: unknown key; did you mean text?", "lines:2: text: expected a text, found a number", "lines:3: tokens: expected a list of token ids",
		"lines:4: expected one of", "lines:5: prompt: goes with text", "lines:6: infill and answer go together", `lines:7: expected one JSON object`, "lines:8: text: expected a value, found null", "lines:9: expected one of")
	_, err = scores(t, train.ScoreOptions{Draws: 1}, "\n")
	wantError(t, err, "lines: no texts in it")
	j := readToy(t, "joint-l4v3")
	_, err = scores(t, train.ScoreOptions{Draws: 1}, `{"text": ""}
{"text": "abcabc"}
{"text": "ab[MASK]a"}
{"prompt": "a[MASK]", "text": "ab"}
{"infill": "a[MASK]bc", "answer": "abcc"}
{"infill": "a[MASK]bc", "answer": "abc"}
{"tokens": [0, 9]}`, "model="+j.dir)
	wantError(t, err, "7 problems", "lines:2: the row has 6 positions", "lines:3: position 2: has the token [MASK]", "lines:4: prompt: has the mask", `lines:5: answer: has "c" at position 2, where the text has "b"`,
		"lines:6: answer: has 3 tokens, expected the 4", "lines:7: tokens: position 1 has id 9")
	_, err = scores(t, train.ScoreOptions{Draws: 1, Exact: true}, `{"text": "CCCCCCCCCCCCC"}`)
	wantError(t, err, "has 13 free tokens")
}

// FuzzReadTexts: any line is read or refused.
func FuzzReadTexts(f *testing.F) {
	for _, line := range []string{`{"text": "a"}`, `{"tokens": [1, 2]}`, `{"infill": "[MASK]", "answer": "a"}`, `{"text": "a"`, "\ufeff{}", `{"tokens": [99999999999]}`, "null", `{"text":"a","Text":"b"}`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		texts, err := train.ReadTexts("fuzz", strings.NewReader(line))
		for _, one := range texts {
			if err == nil && one.Text == nil && one.Tokens == nil && (one.Infill == nil || one.Answer == nil) {
				t.Fatalf("%q: read as %+v", line, one)
			}
		}
	})
}

// TestPreparedData: what was written is what is shown, and damage is found.
func TestPreparedData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var settings []string
	for _, s := range small(t, "") {
		if strings.HasPrefix(s, "data.") {
			settings = append(settings, s)
		}
	}
	cfg, err := load(settings...)
	must(t, err)
	out := train.Streams{Err: os.Stderr}
	wrote, err := train.Prepare(context.Background(), cfg, dir, out)
	must(t, err)
	shown, err := train.Show(context.Background(), dir, true)
	must(t, err)
	if diff := cmp.Diff(wrote, shown); diff != "" {
		t.Error(diff)
	}
	if shown.Train.Rows+shown.Valid.Rows != 81 || shown.Length != 8 || shown.Layout != "padded" || shown.Train.Free != 7 || strings.Count(shown.Train.Example, "_") != 7 {
		t.Errorf("%+v", shown)
	}
	_, err = train.Prepare(context.Background(), cfg, dir, out)
	wantError(t, err, dir+": exists")
	shards, err := filepath.Glob(filepath.Join(dir, "train-*.bin"))
	must(t, err)
	text, err := os.ReadFile(shards[0])
	must(t, err)
	text[4] ^= 1
	must(t, os.WriteFile(shards[0], text, 0o600))
	_, err = train.Show(context.Background(), dir, true)
	wantError(t, err, shards[0], "it is damaged")
	_, err = train.Show(context.Background(), filepath.Join(dir, "none"), false)
	wantError(t, err, "expected a directory that `mdmhost data prepare` wrote")
}
