package view

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

const (
	quiet       = 2 * time.Second // shorter runs show nothing
	reportEvery = 5 * time.Second
)

// Progress shows how far a run is: a bar in a terminal, else a line every few seconds; nothing for runs of under two
// seconds.
type Progress struct {
	out      io.Writer
	terminal bool
	start    time.Time
	now      func() time.Time

	rows, positions   int // of the run
	grows             bool
	done, opened, nfe int
	lengths           int             // of the rows that are done, where rows grow
	parts             map[int64]*part // rows on their way
	spoke             time.Time

	mu     sync.Mutex    // guards the two below
	screen *mpb.Progress // nil until the bar is worth showing, and after Close
	bar    *mpb.Bar
}

// part is what a row on its way has contributed.
type part struct {
	blanks int // at the start
	given  int // written at the start
	opened int
	nfe    int
	share  float64 // of its steps, that are done
	length int     // now
}

// NewProgress starts to show a run of so many rows with so many blanks on out. Close must be called.
func NewProgress(out io.Writer, terminal bool, rows, blanks int) *Progress {
	return &Progress{out: out, terminal: terminal, start: time.Now(), now: time.Now, rows: rows, positions: blanks, parts: map[int64]*part{}}
}

// Growing tells before the first row that rows grow: nobody knows how many positions they will have, so that the share of their steps
// says how far the run is.
func (p *Progress) Growing() { p.grows = true }

// Admitted implements [sampling.Observer].
func (p *Progress) Admitted(f sampling.Frame) {
	blanks := masked(f.Flags)
	p.parts[f.Index] = &part{blanks: blanks, given: len(f.Flags) - blanks, length: len(f.Flags)}
	p.show()
}

// masked counts the positions [L] that are.
func masked(flags []sampling.Flags) int {
	n := 0
	for _, flag := range flags {
		if flag&sampling.Masked != 0 {
			n++
		}
	}
	return n
}

// Stepped implements [sampling.Observer].
func (p *Progress) Stepped(f sampling.Frame) {
	if row := p.parts[f.Index]; row != nil {
		row.length, row.share = len(f.Flags), float64(f.Step+1)/float64(max(f.Steps, 1))
		p.count(row, len(f.Flags)-masked(f.Flags)-row.given, f.NFE) // what a step wrote may have been written before
	}
	p.show()
}

// Finished implements [sampling.Observer].
func (p *Progress) Finished(r sampling.Result) {
	if row := p.parts[r.Index]; row != nil {
		opened := row.blanks
		if p.grows {
			opened, p.lengths = r.Opened, p.lengths+len(r.Tokens)
		}
		p.count(row, opened, r.NFE)
		delete(p.parts, r.Index)
	}
	p.done++
	p.show()
}

func (p *Progress) count(row *part, opened, nfe int) {
	p.opened += opened - row.opened
	p.nfe += nfe - row.nfe
	row.opened, row.nfe = opened, nfe
}

func (p *Progress) show() {
	now := p.now()
	switch {
	case now.Sub(p.start) < quiet:
	case !p.terminal:
		if now.Sub(p.spoke) >= reportEvery {
			p.spoke = now
			_, _ = fmt.Fprintln(p.out, p.line()) // a screen that went away stops no run
		}
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.bar == nil {
			p.open()
		}
		p.bar.SetCurrent(int64(min(p.far(), p.whole()-1)))
	}
}

func (p *Progress) open() {
	p.screen = mpb.New(mpb.WithOutput(p.out), mpb.WithAutoRefresh(), mpb.WithWidth(40), mpb.WithRefreshRate(time.Second/framesPerSecond))
	p.bar = p.screen.AddBar(int64(p.whole()),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return "sampling " })),
		mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_GO)),
		mpb.BarRemoveOnComplete())
}

// perRow is what a row that grows counts for.
const perRow = 1000

// whole is all that there is to do, at least 1: positions, or of rows that grow thousandths.
func (p *Progress) whole() int {
	if p.grows {
		return max(p.rows*perRow, 1)
	}
	return max(p.positions, 1)
}

// far is how much of the whole is done.
func (p *Progress) far() int {
	if !p.grows {
		return p.opened
	}
	far := p.done * perRow
	for _, row := range p.parts {
		far += int(perRow * row.share)
	}
	return far
}

func (p *Progress) line() string {
	percent := 100 * p.far() / p.whole()
	if !p.grows {
		return fmt.Sprintf("%d of %d rows, %d%% of the positions, %s", p.done, p.rows, percent, perNFE(p.opened, p.nfe))
	}
	lengths := p.lengths
	for _, row := range p.parts {
		lengths += row.length
	}
	return fmt.Sprintf("%d of %d rows, %d%% of the steps, mean length %.1f, %s", p.done, p.rows, percent, float64(lengths)/float64(max(p.done+len(p.parts), 1)), perNFE(p.opened, p.nfe))
}

func perNFE(tokens, nfe int) string {
	return fmt.Sprintf("%.2f tokens per NFE", float64(tokens)/float64(max(nfe, 1)))
}

// Say prints a line above the bar. It may be called from any goroutine.
func (p *Progress) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out io.Writer = p.out
	if p.screen != nil {
		out, line = p.screen, "\r"+line // the terminal may have echoed a key
	}
	_, _ = fmt.Fprintln(out, line)
}

// Close takes the bar off the screen.
func (p *Progress) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen != nil {
		p.bar.Abort(true)
		p.screen.Wait()
		p.screen = nil
	}
	return nil
}
