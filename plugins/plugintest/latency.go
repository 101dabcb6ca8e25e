package plugintest

import (
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func latencyChecks() []check {
	return []check{{Rule: Rule{"latency", "latency", "A step of 8 rows of 256 positions takes under 20 ms.", "Planners are asked once a forward pass.", planners}, after: []string{"kill", "plan", "batch-sizes"}, run: (*session).latency}}
}

// late is about what a forward pass of a small model takes.
const late = 20 * time.Millisecond

func (s *session) latency() {
	calls := 100
	if s.o.Quick {
		calls = 20
	}
	for _, n := range []int{1, 8, 64} {
		var rows []sampling.Request
		for i := range n {
			rows = append(rows, blank(int64(i), 256))
		}
		step := s.made("latency", rows...)
		if step == nil {
			return
		}
		l, err := s.shared()
		if err == nil {
			_, err = l.Start(s.ctx, s.run)
		}
		var took []time.Duration
		out := make([]sampling.Decision, n)
		for i := 0; i < calls+3 && err == nil; i++ {
			began := time.Now()
			err = l.Plan(s.ctx, step, out)
			if i >= 3 { // the first calls grow buffers
				took = append(took, time.Since(began))
			}
		}
		if err == nil {
			err = l.End(s.ctx)
		}
		if err != nil {
			s.blame("latency", "the same step again and again", err)
			return
		}
		slices.Sort(took)
		at := Latency{Rows: n, Length: 256, Calls: calls, Median: took[len(took)/2], P99: took[len(took)*99/100]}
		s.report.Latency = append(s.report.Latency, at)
		if n == 8 && at.Median > late {
			s.find(Note, "latency", "do the work of all rows of a step at once, and ask for statistics instead of logits", "expected a median of at most %v for 8 rows of 256 positions, found %.1f ms", late, at.Median.Seconds()*1e3)
		}
	}
}
