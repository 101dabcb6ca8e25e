package progress

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func train(step int64, loss float64) record.Line {
	return record.Line{Kind: record.Train, Step: step, Loss: loss, BitsPerToken: loss / math.Ln2, TokensPerSecond: 51234.4}
}

func eval(step int64, loss float64) record.Line {
	return record.Line{Kind: record.Eval, Step: step, Loss: loss, BitsPerToken: loss / math.Ln2}
}

// A run of 2000 steps of 0.5 seconds goes on at 1000; figures come every 10 steps, evaluations every 50.
func TestLines(t *testing.T) {
	for name, best := range map[string]*float64{"new": nil, "resumed": new(float64)} {
		from := int64(0)
		if best != nil {
			from, *best = 1000, 1.5
		}
		var b strings.Builder
		p := New(&b, false, from+1000, from, best)
		clock := p.start
		p.now = func() time.Time { return clock }
		p.Step(from)
		for i := int64(1); i <= 200; i++ {
			clock = clock.Add(500 * time.Millisecond)
			if i%10 == 0 {
				p.Line(train(from+i, 1+1/float64(i)))
			}
			switch p.Step(from + i); i {
			case 50:
				p.Line(eval(from+i, 1.1))
			case 100:
				p.Line(eval(from+i, 1.0))
			case 150:
				p.Line(eval(from+i, 1.2))
			case 200:
				p.Line(train(from+i, math.Inf(1)))
				clock = clock.Add(time.Minute)
				p.Step(from + i)
				p.Line(eval(from+i, math.NaN()))
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

func TestBar(t *testing.T) {
	var b strings.Builder
	p := New(&b, true, 100, 10, nil)
	p.Step(11)
	p.Line(train(11, 0.75))
	p.Line(eval(11, 1))
	p.Step(100)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.Say("after")
	for _, want := range []string{"evaluation at step 11: loss 1.0000, 1.443 bits per token\n", "step 100/100 0s left ", "loss 0.7500 1.082 bits/token 51234 tokens/s best 1.443", "after\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from %q", want, b.String())
		}
	}
}

func TestSummary(t *testing.T) {
	s := Summary{
		Step: 18000, Steps: 20000, From: 12000, Stopped: "no better evaluation for 5", Tokens: 24_576_000,
		Times: Times{
			Wall: 500 * time.Second, Data: 5 * time.Second, Runtime: 400 * time.Second, Optimiser: 60 * time.Second, Evaluation: 20 * time.Second,
			Checkpoint: 5 * time.Second,
		},
		Best: &checkpoint.Best{Step: 13000, Metric: "bits_per_token", Value: 1.75712}, Model: "text", Trainer: "md4 schedule=cosine",
		Provider: "onnx/cpu, 2 threads", Notes: []string{"cuda: libcudart.so.13 is missing, so the CPU runs"}, Run: "runs/text",
		Files: []string{"checkpoints/step-18000", "metrics.jsonl", "curve.png", "/models/text"}, Seed: 7,
	}
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	// Killed before the first step of a new run.
	if err := (Summary{Steps: 100, Stopped: "interrupted", Times: Times{Wall: 1234 * time.Millisecond}, Model: "text", Trainer: "md4", Provider: "onnx/cpu", Seed: 8}).Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary", b.String())
}

// Speeds are shown where a trainer has some, beside the figures that every trainer has.
func TestSpeeds(t *testing.T) {
	for want, metrics := range map[string]map[string]float64{
		"":                                {"accuracy": 1, "b_um": 2},
		"b_in 2.00":                       {"b_in": 2},
		"b_in 2.31 ± 0.40 (1.10 to 4.52)": {"b_in": 2.3149, "b_in_spread": 0.4, "b_in_min": 1.1, "b_in_max": 4.518, "um_ce": 7},
	} {
		if got := Speeds(metrics); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var b strings.Builder
		p := New(&b, false, 100, 0, nil)
		line := train(10, 1)
		line.Metrics = metrics
		p.Line(line)
		p.spoke = time.Time{}
		p.Step(11)
		if text := b.String(); !strings.Contains(text, "tokens/s  "+want) {
			t.Errorf("%q does not say %q", text, want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
