package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// toy is a model whose denoiser is the exact posterior of an explicit distribution.
type toy struct {
	dir string
	P   map[string]float64
}

func readToy(t *testing.T, name string) toy {
	t.Helper()
	j := toy{dir: filepath.Join("..", "testdata", name)}
	text, err := os.ReadFile(filepath.Join(j.dir, "joint.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &j))
	return j
}

// rows are all texts, the likeliest first: an order in which a stratum of times must not belong to a place.
func (j toy) rows() []string {
	var out []string
	for x := range j.P {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b string) int { return int(math.Copysign(1, j.P[b]-j.P[a])) })
	return out
}

// given is the probability of the letters of x that stand in pattern, whose other places are dots.
func (j toy) given(pattern string) float64 {
	sum := 0.0
	for x, p := range j.P {
		fits := true
		for i := range x {
			fits = fits && (pattern[i] == '.' || pattern[i] == x[i])
		}
		if fits {
			sum += p
		}
	}
	return sum
}

// lines writes a CSV file and returns the settings that evaluate a model on it.
func (j toy) lines(t *testing.T, header string, rows []string, more ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte(header+"\n"+strings.Join(rows, "\n")+"\n"), 0o600))
	return append([]string{"model=" + j.dir, "data.valid=" + path, "data.column=text", "data.layout=padded", "runtime.threads=1"}, more...)
}

func eval(t *testing.T, e train.EvalOptions, settings ...string) (*evaluate.Report, error) {
	t.Helper()
	cfg, err := load(settings...)
	must(t, err)
	e.Draws = max(1, e.Draws)
	return train.Evaluate(context.Background(), cfg, host.Options{InProcess: true}, e, train.Streams{Err: os.Stderr})
}

// TestExactPosteriors: of an exact denoiser, bound and log-likelihood by enumeration are the joint's own, and so are
// those of positions given others.
func TestExactPosteriors(t *testing.T) {
	for _, name := range []string{"joint-l4v3", "joint-l6v2", "joint-coupled"} {
		j := readToy(t, name)
		rows := j.rows()
		r, err := eval(t, train.EvalOptions{Exact: true}, j.lines(t, "text", rows)...)
		must(t, err)
		if len(r.Exact.Rows) != len(rows) {
			t.Fatalf("%d rows, want %d", len(r.Exact.Rows), len(rows))
		}
		for i, x := range rows {
			for what, got := range map[string]float64{"bound": -r.Exact.Rows[i].Bound, "log-likelihood": r.Exact.Rows[i].LogLikelihood} {
				if want := math.Log(j.P[x]); math.Abs(got-want) > 1e-5 {
					t.Errorf("%s %s: %s %v, want log p = %v", name, x, what, got, want)
				}
			}
		}
	}
	j := readToy(t, "joint-l6v2")
	var rows []string
	var want []float64
	for _, x := range j.rows()[:20] {
		pattern := "." + x[1:3] + "..."
		rows, want = append(rows, x+","+pattern), append(want, math.Log(j.P[x]/j.given(pattern)))
	}
	r, err := eval(t, train.EvalOptions{Exact: true}, j.lines(t, "text,given", rows, "data.fixed_column=given", "data.blank=.")...)
	must(t, err)
	for i := range rows {
		if got := -r.Exact.Rows[i].Bound; math.Abs(got-want[i]) > 1e-5 {
			t.Errorf("%s: bound %v, want %v", rows[i], got, want[i])
		}
	}
}

// TestEstimatesAreUnbiased: the trainers' evaluations have the exact bounds as their means, in continuous time and for a
// finite T. Each is the mean over 60 seeds against five standard errors of that: one false alarm in 100,000.
func TestEstimatesAreUnbiased(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	rows := j.rows()[:30]
	for name, c := range map[string]struct {
		T        int
		settings []string
	}{
		"counts":    {0, []string{"trainer.name=md4"}},
		"papl":      {0, []string{"trainer.name=papl"}},
		"times":     {0, []string{"trainer.name=md4", "trainer.eval=time", "trainer.schedule=cosine"}},
		"finite":    {4, []string{"trainer.name=md4", "trainer.t=4", "trainer.schedule=cosine"}},
		"many rows": {0, []string{"trainer.name=md4", "train.batch=7"}},
	} {
		settings := j.lines(t, "text", rows, c.settings...)
		exact, err := eval(t, train.EvalOptions{Exact: true, Timesteps: c.T}, settings...)
		must(t, err)
		want := exact.Exact.Bound.NatsPerRow.Value
		if c.T > 0 {
			want = exact.Exact.Finite.Bound.NatsPerRow.Value
		}
		var got []float64
		for seed := range 60 {
			r, err := eval(t, train.EvalOptions{Draws: 2}, append(settings, fmt.Sprintf("seed=%d", seed))...)
			must(t, err)
			got = append(got, r.Bound.NatsPerRow.Value)
		}
		// In continuous time the weight is bounded by eps, which leaves 1e-4 of the masks out and adds two terms of that size.
		m := evaluate.Mean(got)
		if math.Abs(m.Value-want) > 5*m.Error+2e-3 {
			t.Errorf("%s: %v, want %v", name, m, want)
		}
		if m.Error > 0.1*want {
			t.Errorf("%s: %v says little", name, m)
		}
	}
}

// TestEvaluationOfARun: the finished model gets the number that the run's last evaluation had, with the run's settings.
func TestEvaluationOfARun(t *testing.T) {
	ends := []string{"data.bos=true", "data.eos=true", "data.length=10"}
	packed := []string{"data.layout=packed", "data.fixed_column=", "data.blank="}
	for name, c := range map[string]struct {
		settings []string
		tokens   int64
		spelt    int64 // characters
	}{
		"plain": {nil, 16 * 7, 16 * 7}, "timed": {[]string{"network.time=adaln", "trainer.schedule=cosine"}, 16 * 7, 16 * 7}, "papl": {[]string{"trainer.name=papl"}, 16 * 7, 16 * 7},
		"ends": {ends, 16 * 7, 16 * 7}, "packed": {packed, 16 * 8, 16 * 8}, "packed ends": {slices.Concat(ends, packed), 16 * 10, 16 * 8},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		settings := small(t, dir, append(c.settings, "train.steps=20")...)
		_, err := run(t, context.Background(), settings...)
		must(t, err)
		lines, err := record.Read(filepath.Join(dir, train.MetricsFile))
		must(t, err)
		last := lines[len(lines)-1]
		if last.Kind != record.Eval {
			t.Fatalf("the last line is %+v", last)
		}
		r, err := eval(t, train.EvalOptions{}, append(settings, "model="+filepath.Join(dir, train.ModelDir))...)
		must(t, err)
		if math.Abs(r.Bound.BitsPerToken.Value-last.BitsPerToken) > 1e-5*last.BitsPerToken {
			t.Errorf("%s: %v bits per token, the run said %v", name, r.Bound.BitsPerToken, last.BitsPerToken)
		}
		if last.BitsPerToken > 4 { // of 8 tokens at most
			t.Errorf("%s: %v bits per token, more than a guess has", name, last.BitsPerToken)
		}
		if b := r.Bound; b.Kind != "bound" || b.Rows != 16 || b.Tokens != c.tokens || b.Characters != c.spelt {
			t.Errorf("%s: %+v", name, r.Bound)
		}
		if want := map[bool]string{true: "papl", false: "md4"}[name == "papl"]; r.Trainer != want {
			t.Errorf("%s: trainer %s, want the model's own", name, r.Trainer)
		}
	}
}

// TestAccuracy: sampling from an exact posterior in random order gives each answer as often as it is right. Against
// five standard errors: one false alarm in 100,000.
func TestAccuracy(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	var rows []string
	whole, cells := 0.0, 0.0
	for i := range 600 {
		x := j.rows()[i%40]
		pattern := []byte("....")
		pattern[i%4] = x[i%4]
		rows = append(rows, x+","+string(pattern))
		p := j.given(string(pattern))
		whole += j.P[x] / p / 600
		for at := range x {
			if at != i%4 {
				with := slices.Clone(pattern)
				with[at] = x[at]
				cells += j.given(string(with)) / p / 1800
			}
		}
	}
	r, err := eval(t, train.EvalOptions{Accuracy: true}, j.lines(t, "text,given", rows, "data.fixed_column=given", "data.blank=.", "planner.name=random")...)
	must(t, err)
	a := r.Accuracy
	for what, c := range map[string]struct {
		got  evaluate.Measure
		want float64
	}{"rows": {a.Rows, whole}, "cells": {a.Cells, cells}} {
		if math.Abs(c.got.Value-c.want) > 5*c.got.Error {
			t.Errorf("%s: %v right, want %v", what, c.got, c.want)
		}
	}
	if a.NFE != 3 || a.FreeCells != 1800 || a.Asked != 600 || a.Planner != "random" {
		t.Errorf("%+v", a)
	}
}

// TestForeignModels: a model that somebody exported is measured as its file is; enumeration and evaluation agree. One draw
// in 100,000 would not.
func TestForeignModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte("text\nCC\nCO\nCCO\n"), 0o600))
	settings := []string{"model=rxnmapper-albert", "data.valid=" + path, "data.column=text", "data.layout=padded", "data.length=8", "runtime.threads=1"}
	r, err := eval(t, train.EvalOptions{Exact: true, Draws: 1}, settings...)
	must(t, err)
	var got []float64
	for seed := range 40 {
		one, err := eval(t, train.EvalOptions{}, append(settings, fmt.Sprintf("seed=%d", seed))...)
		must(t, err)
		got = append(got, one.Bound.NatsPerRow.Value)
	}
	if m := evaluate.Mean(got); math.Abs(m.Value-r.Exact.Bound.NatsPerRow.Value) > 5*m.Error {
		t.Errorf("%v, want %v", m, r.Exact.Bound.NatsPerRow.Value)
	}
}

// TestEvaluationsRefused: what cannot be measured, with what to do.
func TestEvaluationsRefused(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	for name, c := range map[string]struct {
		e        train.EvalOptions
		settings []string
		want     []string
	}{
		"no data":       {settings: []string{"model=" + j.dir}, want: []string{"data.valid: is empty", "--valid FILE"}},
		"no file":       {settings: []string{"model=" + j.dir, "data.valid=none.csv", "data.column=text"}, want: []string{"data.valid: none.csv: no such file"}},
		"length":        {settings: j.lines(t, "text", []string{"abca"}, "data.length=5"), want: []string{"data.length", "longest row has 4 positions"}},
		"short rows":    {settings: j.lines(t, "text", []string{"abc"}), want: []string{"takes no attention mask"}},
		"strange text":  {settings: j.lines(t, "text", []string{"abcx"}), want: []string{"rows.csv:2"}},
		"no answers":    {e: train.EvalOptions{Accuracy: true}, settings: j.lines(t, "text", []string{"abca"}), want: []string{"data.fixed_column", "leave --accuracy out"}},
		"trainer":       {settings: j.lines(t, "text", []string{"abca"}, "trainer.name=md5"), want: []string{"did you mean md4?"}},
		"option":        {settings: j.lines(t, "text", []string{"abca"}, "trainer.shedule=cosine"), want: []string{"trainer.shedule", "did you mean"}},
		"too many free": {e: train.EvalOptions{Exact: true}, settings: []string{"data.column=text", "data.layout=padded", "data.length=20", "data.valid=" + long(t)}, want: []string{"row 0: has 15 free positions", "at most 12"}},
	} {
		_, err := eval(t, c.e, c.settings...)
		t.Run(name, func(t *testing.T) { wantError(t, err, c.want...) })
	}
}

func long(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "long.csv")
	must(t, os.WriteFile(path, []byte("text\n"+strings.Repeat("C", 15)+"\n"), 0o600))
	return path
}

// TestFixedSizes: an export of fixed batch and length gets the same number as one of any.
func TestFixedSizes(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	must(t, err)
	dir := filepath.Join(t.TempDir(), "fixed")
	must(t, os.MkdirAll(filepath.Join(dir, "onnx"), 0o755))
	for _, name := range []string{"config.json", "tokenizer.json"} {
		text, err := m.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	file, err := graph.Decode(m.ONNX)
	must(t, err)
	for _, v := range slices.Concat(file.Graph.Inputs, file.Graph.Outputs) {
		v.Shape[0], v.Shape[1] = graph.Known(4), graph.Known(8)
	}
	must(t, os.WriteFile(filepath.Join(dir, "onnx", "model.onnx"), file.Encode(), 0o600))
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte("text\nCC\nCO\nCCO\nCN\nCCN\n"), 0o600))
	settings := []string{"model=rxnmapper-albert", "data.valid=" + path, "data.column=text", "data.layout=padded", "data.length=8", "runtime.threads=1"}
	want, err := eval(t, train.EvalOptions{Draws: 2}, settings...)
	must(t, err)
	got, err := eval(t, train.EvalOptions{Draws: 2}, append(settings, "model="+dir)...)
	must(t, err)
	if a, b := got.Bound.NatsPerRow.Value, want.Bound.NatsPerRow.Value; math.Abs(a-b) > 1e-4*b {
		t.Errorf("%v, want %v", a, b)
	}
	_, err = eval(t, train.EvalOptions{}, append(settings, "model="+dir, "data.length=6")...)
	wantError(t, err, "the export fixed rows to 8 positions, found 6")
}
