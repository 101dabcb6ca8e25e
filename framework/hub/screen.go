package hub

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	patience = 2 * time.Second // what takes less shows nothing
	speaks   = 5 * time.Second // between lines, where there is no terminal
)

// screen shows how much has come: a bar in a terminal, else a line every few seconds.
type screen struct {
	mu           sync.Mutex
	to           io.Writer
	terminal     bool
	start, spoke time.Time
	total, done  int64
	shown        *mpb.Progress
	bar          *mpb.Bar
}

func newScreen(o Options, total int64) *screen {
	return &screen{to: o.Progress, terminal: o.Terminal, start: time.Now(), total: total}
}

// add counts bytes; those that were thrown away are below 0.
func (s *screen) add(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
	now := time.Now()
	if s.to == nil || now.Sub(s.start) < patience {
		return
	}
	if !s.terminal {
		if now.Sub(s.spoke) >= speaks {
			s.spoke = now
			_, _ = fmt.Fprintf(s.to, "pull: %s of %s\n", bytes(s.done), bytes(s.total)) // a screen that went away stops nothing
		}
		return
	}
	if s.bar == nil {
		s.shown = mpb.New(mpb.WithOutput(s.to), mpb.WithAutoRefresh())
		s.bar = s.shown.AddBar(s.total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name("pull ")),
			mpb.AppendDecorators(decor.CountersKibiByte("% .1f of % .1f"), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)))
	}
	s.bar.SetCurrent(min(s.done, s.total-1)) // a full bar is taken off; close does that
}

// close takes the bar off and returns how many bytes there are.
func (s *screen) close() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		s.bar.Abort(true)
		s.shown.Wait()
	}
	return s.done
}

// bytes spells a size.
func bytes(n int64) string {
	v, unit := float64(n), 0
	for v >= 1024 && unit < 4 {
		v, unit = v/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, []string{"", "KiB", "MiB", "GiB", "TiB"}[unit])
}
