// Package progress shows a training run to the person who waits for it: how far it is while it runs, and at its end what
// it did.
package progress

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mdmhost/mdmhost/framework/training/record"
)

const (
	reportEvery     = 10 * time.Second // between lines where there is no terminal
	framesPerSecond = 10
)

// Progress shows how far a run is: a bar in a terminal, else a line every ten seconds. Evaluations get a line of their own
// in both. The methods but [Progress.Say] are called by one goroutine.
type Progress struct {
	out      io.Writer
	kept     io.Writer
	terminal bool
	now      func() time.Time
	start    time.Time
	spoke    time.Time // zero before the first line

	mu          sync.Mutex // guards what follows: the bar is drawn by a goroutine of its own
	steps, from int64      // of the run; done before this session
	step        int64
	last        record.Line // of training
	best        float64     // bits per token
	evaluated   bool
	screen      *mpb.Progress // nil before the first step, and after Close
	bar         *mpb.Bar
}

// New starts to show on out a run of so many optimiser steps, of which from were done by earlier sessions. best is the
// best evaluation so far in bits per token, nil before the first. Close must be called.
func New(out io.Writer, terminal bool, steps, from int64, best *float64) *Progress {
	p := &Progress{out: out, kept: io.Discard, terminal: terminal, now: time.Now, steps: steps, from: from, step: from}
	p.start = p.now()
	if best != nil {
		p.best, p.evaluated = *best, true
	}
	return p
}

// Keep gives w, too, all lines but those that tell how far the run is. It is called before the first of them.
func (p *Progress) Keep(w io.Writer) { p.kept = w }

// Step tells that so many steps are done.
func (p *Progress) Step(done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = done
	if p.terminal {
		if p.screen == nil {
			p.open()
		}
		p.bar.SetCurrent(min(done, p.steps-1)) // a bar that is full is taken off; Close does that
		return
	}
	if now := p.now(); p.last.Step > 0 && now.Sub(p.spoke) >= reportEvery {
		p.spoke = now
		line := append([]string{p.position()}, p.figures()...)
		_, _ = fmt.Fprintln(p.out, strings.Join(append(line, p.left()), "  ")) // a screen that went away stops no run
	}
}

// Line takes new figures: those of training are shown from now on, an evaluation is said at once.
func (p *Progress) Line(l record.Line) {
	if l.Kind == record.Train {
		p.mu.Lock()
		p.last = l
		p.mu.Unlock()
		return
	}
	p.Say(p.evaluation(l))
}

// evaluation says what an evaluation found, and whether it is the best.
func (p *Progress) evaluation(l record.Line) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("evaluation at step %d: loss %.4f, %.3f bits per token", l.Step, l.Loss, l.BitsPerToken)
	switch {
	case !p.evaluated || l.BitsPerToken < p.best:
		if p.evaluated {
			text += fmt.Sprintf(", the best so far (before %.3f)", p.best)
		}
		if !math.IsNaN(l.BitsPerToken) {
			p.best, p.evaluated = l.BitsPerToken, true
		}
	default:
		text += fmt.Sprintf(" (best %.3f)", p.best)
	}
	return text
}

func (p *Progress) open() {
	p.screen = mpb.New(mpb.WithOutput(p.out), mpb.WithAutoRefresh(), mpb.WithRefreshRate(time.Second/framesPerSecond))
	locked := func(f func() string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return f()
		})
	}
	// A narrow terminal cuts off the end of the line: figures come in the order of their use.
	p.bar = p.screen.AddBar(max(p.steps, 1), mpb.BarWidth(24), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(locked(func() string { return p.position() + " " + p.left() + " " })),
		mpb.AppendDecorators(locked(func() string { return " " + strings.Join(p.figures(), " ") })))
	p.bar.SetRefill(p.from)
}

func (p *Progress) position() string { return fmt.Sprintf("step %d/%d", p.step, p.steps) }

// figures are the newest ones of the run.
func (p *Progress) figures() (out []string) {
	if p.last.Step > 0 {
		out = append(out, fmt.Sprintf("loss %.4f", p.last.Loss))
		if !math.IsNaN(p.last.BitsPerToken) { // the trainer says what its loss is in tokens
			out = append(out, fmt.Sprintf("%.3f bits/token", p.last.BitsPerToken))
		}
		out = append(out, fmt.Sprintf("%.0f tokens/s", p.last.TokensPerSecond))
		if text := Speeds(p.last.Metrics); text != "" {
			out = append(out, text)
		}
	}
	if p.evaluated {
		out = append(out, fmt.Sprintf("best %.3f", p.best))
	}
	return out
}

// Speeds says how fast an order network inserts tokens (LoFlexMDM): mean, spread, and the slowest and fastest of a row, each the mean
// over rows, such as "b_in 2.31 ± 0.40 (1.10 to 4.52)". It is empty for metrics without. Speeds without a spread are those of no
// order, and ever larger ones are the way in which their training goes wrong.
func Speeds(metrics map[string]float64) string {
	mean, ok := metrics["b_in"]
	if !ok {
		return ""
	}
	text := fmt.Sprintf("b_in %.2f", mean)
	if spread, ok := metrics["b_in_spread"]; ok {
		text += fmt.Sprintf(" ± %.2f", spread)
	}
	least, ok1 := metrics["b_in_min"]
	most, ok2 := metrics["b_in_max"]
	if ok1 && ok2 {
		text += fmt.Sprintf(" (%.2f to %.2f)", least, most)
	}
	return text
}

// left estimates the time to the end from this session's steps, whatever else it did between them included.
func (p *Progress) left() string {
	done := p.step - p.from
	if done <= 0 {
		return "starting"
	}
	each := p.now().Sub(p.start) / time.Duration(done)
	return fmt.Sprint(short(each*time.Duration(max(p.steps-p.step, 0))), " left")
}

// Say prints a line, above the bar where there is one. It may be called from any goroutine.
func (p *Progress) Say(line string) {
	_, _ = fmt.Fprintln(p.kept, line)
	p.mu.Lock()
	screen := p.screen
	p.mu.Unlock()
	var out io.Writer = p.out
	if screen != nil {
		out, line = screen, "\r"+line // the terminal may have echoed a key
	}
	_, _ = fmt.Fprintln(out, line)
}

// Close takes the bar off the screen.
func (p *Progress) Close() error {
	p.mu.Lock()
	screen, bar := p.screen, p.bar
	p.screen = nil
	p.mu.Unlock()
	if screen != nil {
		bar.Abort(true)
		screen.Wait()
	}
	return nil
}

// short rounds a duration to what a reader wants to know.
func short(d time.Duration) time.Duration {
	switch {
	case d > time.Hour:
		return d.Round(time.Minute)
	case d > 10*time.Second:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}
