package importer

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// patience is how long an import takes without a word.
const patience = 2 * time.Second

// screen shows how far an import is, once it has taken a while.
type screen struct {
	to          io.Writer
	start       time.Time
	total, done int64
	shown       *mpb.Progress
	bar         *mpb.Bar
}

func newScreen(to io.Writer, tensors []safetensors.Tensor) *screen {
	s := &screen{to: to, start: time.Now()}
	for _, t := range tensors {
		s.total += int64(len(t.Data))
	}
	return s
}

// add counts bytes that were written.
func (s *screen) add(n int) {
	s.done += int64(n)
	if s.bar == nil && s.to != nil && time.Since(s.start) > patience {
		s.shown = mpb.New(mpb.WithOutput(s.to), mpb.WithAutoRefresh())
		s.bar = s.shown.AddBar(s.total, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name("import ")),
			mpb.AppendDecorators(decor.CountersKibiByte("% .1f of % .1f"), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)))
	}
	if s.bar != nil {
		s.bar.SetCurrent(s.done)
	}
}

func (s *screen) close() {
	if s.bar != nil {
		s.bar.Abort(true)
		s.shown.Wait()
	}
}
