// Package replay answers from a recorded run in place of a model: a planner can be tried, step by step and again and again, against what a
// model said once, on a machine without the model's runtime. A row goes on as long as its canvas is the recorded one; where the planner
// decided otherwise, the row ends with an error that says where and what the recorded planner did.
//
//	d, err := replay.Open("t.jsonl", replay.Model{Name: "mine", MaskID: 4, V: 300}, replay.Options{})
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/recording"
)

// Model is what is known of the model that was recorded. Its network is not needed.
type Model struct {
	Name   string // for messages
	MaskID int32
	V      int // width of the logits
}

// Options say how statistics come out.
type Options struct {
	// LogitsMemory gives the memory for Statistics.Logits, as for every runtime. nil keeps them in ordinary memory.
	LogitsMemory func(bytes int) ([]float32, error)
}

// Denoiser is an opened recording; it implements [sampling.Denoiser].
type Denoiser struct {
	name    string // of the file
	model   Model
	options Options
	run     sampling.Run   // as the recorded planner was told
	needs   sampling.Needs // what it asked for, and what is there
	caps    sampling.Capabilities

	mu      sync.Mutex // over what follows: Close may be called at any time
	rows    map[int64]*row
	head    sampling.Head
	closed  bool
	set     bool // Configure was called
	batches map[[2]int]*batch
	current *batch
}

// row is what was asked about one row, in order.
type row struct {
	questions []question
	at        int // how many of them were asked in this run
}

// question is what the planner was asked about a row, and what it decided.
type question struct {
	line     int // of the trace
	seen     sampling.Row
	decision sampling.Decision
}

var _ sampling.Denoiser = (*Denoiser)(nil)

const again = "record it anew with `mdmhost sample --trace FILE --record`"

// Read reads the recording in a file.
func Read(name string) (*recording.Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, missing(name, err)
	}
	defer f.Close()
	r, err := recording.Read(f)
	if err != nil {
		return nil, fmt.Errorf("runtime.recording %s: %w", name, err)
	}
	return r, nil
}

// missing is the error of a file that cannot be opened.
func missing(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("runtime.recording %s: %w; `mdmhost sample --trace FILE --record` writes one", name, err)
}

// Open reads a recording of a run of the model. Errors name the line, or say what of the model differs.
func Open(name string, m Model, o Options) (*Denoiser, error) {
	r, err := Read(name)
	if err != nil {
		return nil, err
	}
	first := r.Runs[0]
	d := &Denoiser{name: name, model: m, options: o, run: first.Run, needs: first.Needs, rows: map[int64]*row{}, batches: map[[2]int]*batch{}}
	if d.run.MaskID != m.MaskID || d.run.V > m.V {
		return nil, fmt.Errorf("runtime.recording %s: was made with a model whose mask is token %d of %d, and that of %s is %d of %d; give the model that was recorded (%s)",
			name, d.run.MaskID, d.run.V, m.Name, m.MaskID, m.V, r.Header.Model)
	}
	for _, run := range r.Runs {
		if !slices.Equal(run.Needs.List(), d.needs.List()) {
			return nil, fmt.Errorf("runtime.recording %s: its planner needed %s at first and %s later; %s", name, d.needs, run.Needs, again)
		}
		for _, step := range run.Steps {
			if err := d.take(step); err != nil {
				return nil, fmt.Errorf("runtime.recording %s: trace, line %d: %w; %s", name, step.Line, err, again)
			}
		}
	}
	if len(d.rows) == 0 {
		return nil, fmt.Errorf("runtime.recording %s: holds no question to a planner: it was cut off, or its sampler asked none; %s", name, again)
	}
	d.caps = sampling.Capabilities{Serves: d.needs, VocabDots: len(d.needs.VocabDot), State: true, Padding: true, V: m.V, Runtime: "replay", Provider: "recording"}
	d.caps.Serves.Proposal, d.caps.Serves.PlannerScore, d.caps.Serves.Uniform, d.caps.Serves.Gumbel = true, false, false, false
	return d, nil
}

// take lists the questions of a step with their rows.
func (d *Denoiser) take(s recording.Step) error {
	step, err := new(wire.Decoder).Decode(s.Step)
	if err != nil {
		return err
	}
	for i, seen := range step.Rows {
		if seen.Offset < 0 || seen.Length < seen.Offset+len(seen.Token) {
			return fmt.Errorf("row %d: a window of %d positions from %d, and the row has %d", seen.Index, len(seen.Token), seen.Offset, seen.Length)
		}
		if lacking := d.lacks(&seen); lacking != "" {
			return fmt.Errorf("row %d: the question lacks %s, which its planner needed", seen.Index, lacking)
		}
		if d.rows[seen.Index] == nil {
			d.rows[seen.Index] = &row{}
		}
		r := d.rows[seen.Index]
		r.questions = append(r.questions, question{s.Line, seen, s.Answers[i]})
	}
	return nil
}

// lacks names a statistic that the planner needed and that a question does not hold, or is "".
func (d *Denoiser) lacks(seen *sampling.Row) string {
	needs, n := &d.needs, len(seen.Token)
	for _, c := range []struct {
		name string
		is   bool
		have int
		want int
	}{
		{"proposal", true, len(seen.Proposal), n}, {"logp_proposal", needs.LogpProposal != sampling.NotNeeded, len(seen.LogpProposal), n}, {"p1", needs.P1, len(seen.P1), n},
		{"p2", needs.P2, len(seen.P2), n}, {"entropy", needs.Entropy != sampling.NotNeeded, len(seen.Entropy), n}, {"logp_current", needs.LogpCurrent, len(seen.LogpCurrent), n},
		{"kl_prev", needs.KLPrev, len(seen.KLPrev), n}, {"logp_leave_one_out", needs.LogpLeaveOneOut, len(seen.LogpLeaveOneOut), n}, {"unmask_rate", needs.UnmaskRate, len(seen.UnmaskRate), n},
		{"insertion_rate", needs.InsertionRate, len(seen.InsertionRate), n + 1}, {"vocab_dot", len(needs.VocabDot) > 0, len(seen.VocabDot), n * len(needs.VocabDot)},
		{"topk", needs.TopK > 0, min(len(seen.TopIDs), len(seen.TopLogp)), n * max(seen.K, needs.TopK)}, {"logits", needs.Logits, len(seen.Logits), n * d.model.V},
	} {
		if c.is && c.have != c.want {
			return c.name
		}
	}
	return ""
}

// Capabilities implements [sampling.Denoiser]. The runtime serves what the recorded planner was told, and nothing else.
func (d *Denoiser) Capabilities() sampling.Capabilities { return d.caps }

// Notes says what answers.
func (d *Denoiser) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []string{fmt.Sprintf("no model runs: the statistics are those of %s, %d rows", d.name, len(d.rows))}
}

// Configure implements [sampling.Denoiser].
func (d *Denoiser) Configure(ctx context.Context, head sampling.Head) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return d.errClosed()
	case d.set:
		return fmt.Errorf("runtime.recording %s: Configure was called before; open it again for another head", d.name)
	}
	n, have := &head.Needs, &d.needs
	for _, c := range []struct {
		name       string
		want, have sampling.On
	}{{"logp_proposal", n.LogpProposal, have.LogpProposal}, {"entropy", n.Entropy, have.Entropy}, {"p1, p2", n.Peaks(), have.Peaks()}} {
		if c.want != sampling.NotNeeded && c.want != c.have {
			return fmt.Errorf("needs %s(on=%s): %s holds it on=%s; record a run with a planner that needs the same", c.name, c.want, d.name, c.have)
		}
	}
	if len(n.VocabDot) > 0 && !slices.EqualFunc(n.VocabDot, have.VocabDot, slices.Equal[[]float32]) {
		return fmt.Errorf("needs vocab_dot(%d): %s holds the products with other vectors; record a run with a planner that needs the same", len(n.VocabDot), d.name)
	}
	d.head, d.set = head, true
	return nil
}

// Close implements [sampling.Denoiser].
func (d *Denoiser) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed, d.rows, d.batches, d.current = true, nil, nil, nil
	return nil
}

func (d *Denoiser) errClosed() error {
	return fmt.Errorf("runtime.recording %s: it was closed", d.name)
}
