package answer

import (
	"errors"
	"fmt"
	"os"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// traceFile is the trace of a run in a file.
type traceFile struct {
	*sampling.Trace
	file *os.File
}

// openTrace opens --trace; nil, which may be used, when there is none.
func (j *job) openTrace() (*traceFile, error) {
	if j.cfg.Trace == "" {
		return nil, nil
	}
	f, err := os.Create(j.cfg.Trace)
	if err != nil {
		return nil, &results.Refused{File: j.cfg.Trace, Reason: fmt.Sprintf("cannot take the trace: %v; name another file", err)}
	}
	return &traceFile{sampling.NewTrace(f, sampling.TraceHeader{
		Seed: j.host.Seed(), Model: j.host.Model().Name, Sampler: j.cfg.Sampler.Name, Planner: j.cfg.Planner.Name, Options: j.host.PlannerOptions(),
	}), f}, nil
}

func (t *traceFile) observers() []sampling.Observer {
	if t == nil {
		return nil
	}
	return []sampling.Observer{t}
}

// Close completes the file.
func (t *traceFile) Close() error {
	if t == nil {
		return nil
	}
	if err := errors.Join(t.Flush(), t.file.Close()); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}
