package train

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	quiet       = 2 * time.Second // what takes less shows nothing
	reportEvery = 5 * time.Second
)

// meter shows how far a task is: a bar in a terminal, else a line every few seconds; nothing within the first two seconds.
type meter struct {
	out      io.Writer
	terminal bool
	start    time.Time
	spoke    time.Time
	now      func() time.Time
	screen   *mpb.Progress // nil until the bar is worth showing
	bar      *mpb.Bar
	what     string
}

func newMeter(to Streams) *meter {
	return &meter{out: to.Err, terminal: to.Terminal, start: time.Now(), now: time.Now}
}

// at tells how much of a task is done. Tasks of different names follow each other.
func (m *meter) at(what string, done, total int64) {
	now := m.now()
	if what != m.what {
		m.close()
		m.what = what
	}
	switch {
	case now.Sub(m.start) < quiet || total <= 0:
	case !m.terminal:
		if now.Sub(m.spoke) >= reportEvery {
			m.spoke = now
			_, _ = fmt.Fprintf(m.out, "%s: %d %%\n", what, 100*done/total) // a screen that went away stops nothing
		}
	default:
		if m.bar == nil {
			m.screen = mpb.New(mpb.WithOutput(m.out), mpb.WithAutoRefresh(), mpb.WithWidth(40))
			m.bar = m.screen.AddBar(total, mpb.PrependDecorators(decor.Name(what+" ")),
				mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_GO)), mpb.BarRemoveOnComplete())
		}
		m.bar.SetCurrent(min(done, total-1)) // a full bar is taken off; close does that
	}
}

// close takes the bar off the screen.
func (m *meter) close() {
	if m.bar != nil {
		m.bar.Abort(true)
		m.screen.Wait()
		m.bar, m.screen = nil, nil
	}
}
