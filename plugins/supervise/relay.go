package supervise

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	longestLine  = 64 << 10 // of what is read as one record
	reportLines  = 100      // of a report of a process's end that are shown
	reportPauses = 200 * time.Millisecond
)

// traceback is how a report of Python begins. It ends with the first line after it that is not indented.
const traceback = "Traceback (most recent call last):"

// relay passes what a process writes to standard error on to the log: records of the kits as records, a runtime's report of its own
// end (a panic with its goroutines, a traceback) as one record with its lines below it, and all else line by line at debug. It is
// the reader that go-plugin drains, and yields nothing to it.
type relay struct {
	*flood
	lines *bufio.Reader
	log   hclog.Logger

	mu     sync.Mutex
	report []string // lines of a report that has not ended
	more   int      // lines of it that are left out
	pause  *time.Timer
}

func newRelay(from *flood, log hclog.Logger) *relay {
	r := &relay{flood: from, lines: bufio.NewReaderSize(from, longestLine), log: log}
	r.pause = time.AfterFunc(time.Hour, r.end)
	r.pause.Stop()
	return r
}

// Read passes everything on and returns when there is no more.
func (r *relay) Read([]byte) (int, error) {
	defer r.end()
	for part := false; ; {
		line, more, err := r.lines.ReadLine()
		if err != nil {
			if err != io.EOF {
				err = io.EOF // the pipe was closed under a process that was killed
			}
			return 0, err
		}
		if part || more {
			r.log.Debug(string(line))
		} else {
			r.take(string(line))
		}
		part = more
	}
}

// take passes one whole line on.
func (r *relay) take(line string) {
	if rec, ok := parseRecord(line); ok {
		r.end()
		rec.write(r.log)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.report) > 0 && line != traceback:
		r.extend(line)
	case line == traceback || fatal.MatchString(line):
		r.flush()
		r.report = []string{line}
		r.pause.Reset(reportPauses)
	default:
		r.plain(line)
	}
}

// extend adds a line to the report.
func (r *relay) extend(line string) {
	if len(r.report) < reportLines {
		r.report = append(r.report, line)
	} else {
		r.more++
	}
	r.pause.Reset(reportPauses)
	if r.report[0] == traceback && len(r.report) > 1 && line != "" && line[0] != ' ' {
		r.flush()
	}
}

// end writes the report that is on its way: something else follows, nothing does, or the process lives on in silence.
func (r *relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}

func (r *relay) flush() {
	r.pause.Stop()
	if len(r.report) == 0 {
		return
	}
	rest := block(strings.Join(r.report[1:], "\n"))
	switch message := strings.TrimSuffix(r.report[0], ":"); {
	case rest == "\n":
		r.log.Error(message)
	case r.more > 0:
		r.log.Error(message, "lines_left_out", r.more, "stack", rest)
	default:
		r.log.Error(message, "stack", rest)
	}
	r.report, r.more = nil, 0
}

// tagged is a line that says its own level, as Go's log package with level prefixes does.
var tagged = regexp.MustCompile(`^\[(TRACE|DEBUG|INFO|WARN|ERROR)\]`)

func (r *relay) plain(line string) {
	level := hclog.Debug
	if tag := tagged.FindStringSubmatch(line); tag != nil {
		level = hclog.LevelFromString(tag[1])
	}
	r.log.Log(level, line)
}
