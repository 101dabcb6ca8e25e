package progress

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
)

// Times say where the time of a session went. What is in none of them is the host's own.
type Times struct {
	Wall       time.Duration // of the whole session
	Data       time.Duration // waiting for batches
	Runtime    time.Duration // forward and backward
	Optimiser  time.Duration
	Evaluation time.Duration
	Checkpoint time.Duration
}

// Summary says at the end of a session what was trained, how fast, and where the time went.
type Summary struct {
	Step, Steps, From int64  // where the run stands; of the whole run; where this session began
	Stopped           string // why it ended before Steps: "interrupted", "no better evaluation for 5"; "" otherwise
	Tokens            int64  // trained on in this session
	Times             Times
	Best              *checkpoint.Best // nil without an evaluation
	Model             string
	Trainer           string // "md4 schedule=cosine"
	Provider          string // what really ran: "onnx/cpu, 2 threads"
	Notes             []string
	Run               string   // the run directory
	Files             []string // what lies there now, relative to it or absolute
	Seed              uint64
}

// Write prints the summary. Speed counts the time of training alone, without evaluations and checkpoints.
func (s Summary) Write(w io.Writer) error {
	t, done := s.Times, s.Step-s.From
	var b strings.Builder
	fmt.Fprintf(&b, "steps     %d of %d", s.Step, s.Steps)
	if s.Stopped != "" {
		fmt.Fprintf(&b, " (%s)", s.Stopped)
	}
	if s.From > 0 {
		fmt.Fprintf(&b, ", %d of them by earlier sessions", s.From)
	}
	fmt.Fprintf(&b, "; %d tokens in %v\n", s.Tokens, short(t.Wall))
	if training := t.Wall - t.Evaluation - t.Checkpoint; done > 0 && training > 0 {
		fmt.Fprintf(&b, "speed     %.2f ms per step, %.0f tokens per second\n", training.Seconds()*1e3/float64(done), float64(s.Tokens)/training.Seconds())
		fmt.Fprintf(&b, "time      %s data, %s runtime, %s optimiser, %s evaluation, %s checkpoint, %s host\n", t.share(t.Data), t.share(t.Runtime),
			t.share(t.Optimiser), t.share(t.Evaluation), t.share(t.Checkpoint), t.share(t.Wall-t.Data-t.Runtime-t.Optimiser-t.Evaluation-t.Checkpoint))
	}
	if s.Best != nil {
		fmt.Fprintf(&b, "best      %s %.4f at step %d\n", strings.ReplaceAll(s.Best.Metric, "_", " "), s.Best.Value, s.Best.Step)
	}
	fmt.Fprintf(&b, "ran       model %s, trainer %s, runtime %s\n", s.Model, s.Trainer, s.Provider)
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	for i, file := range s.Files {
		name := "          "
		if i == 0 {
			name = "files     "
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Run, file)
		}
		fmt.Fprintf(&b, "%s%s\n", name, file)
	}
	fmt.Fprintf(&b, "seed      %d\n", s.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Times) share(part time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*part.Seconds()/max(t.Wall.Seconds(), 1e-9))
}
