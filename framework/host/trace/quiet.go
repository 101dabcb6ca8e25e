package trace

import (
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// quiet collects the lines of steps. Of many that change nothing in a row, as steps of insertion models often do, it tells the first and the
// last number alone.
type quiet struct {
	look  Look
	b     strings.Builder
	idle  []string // lines of steps that changed nothing
	first int
	last  int
}

func (q *quiet) add(s *sampling.TraceEvent, line string) {
	if len(s.Opened)+len(s.Remasked)+len(s.Deleted)+len(s.Inserted) > 0 {
		q.flush()
		q.b.WriteString(line + "\n")
		return
	}
	if len(q.idle) == 0 {
		q.first = s.Step + 1
	}
	q.idle, q.last = append(q.idle, line), s.Step+1
}

func (q *quiet) flush() {
	if len(q.idle) > 2 {
		q.idle = []string{q.look.in(faint, fmt.Sprintf("steps %d to %d change nothing", q.first, q.last))}
	}
	for _, line := range q.idle {
		q.b.WriteString(line + "\n")
	}
	q.idle = nil
}

func (q *quiet) text() string {
	q.flush()
	return q.b.String()
}
