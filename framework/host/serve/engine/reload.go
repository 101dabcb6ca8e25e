package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// Reload serves another configuration: its models are opened beside those of the present one, and one row of each is run, before it takes
// over. Rows on their way end where they are. On an error nothing has changed. The settings of plugin processes and of the
// server's own connections are taken from the new configuration, too; what else a program decides about hosts stays.
func (e *Engine) Reload(ctx context.Context, cfg *config.Config) error {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	if _, err := e.generation(); err != nil {
		return err
	}
	g, err := e.generate(ctx, cfg)
	if err != nil {
		return fmt.Errorf("reload: %w; the configuration before it is served on", err)
	}
	e.mu.Lock()
	old := e.current
	if e.draining {
		e.mu.Unlock()
		g.retire()
		return ErrDraining
	}
	e.current = g
	e.mu.Unlock()
	old.retire()
	return nil
}

// Drain takes no more questions and returns when all rows have ended. When ctx ends before, the rest of them ends as failed, and the
// error is ctx's.
func (e *Engine) Drain(ctx context.Context) error {
	e.drain()
	select {
	case <-e.empty:
		return nil
	case <-ctx.Done():
		e.mu.Lock()
		left := e.rows
		e.mu.Unlock()
		e.abort(errStopped)
		return fmt.Errorf("serve: %d rows had not ended when the time of serve.drain was over: %w", left, context.Cause(ctx))
	}
}

// errStopped is the error of rows that the server did not wait for.
var errStopped = errors.New("the server was stopped before the row was done; ask again")

// drain takes no more questions.
func (e *Engine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return
	}
	e.draining = true
	if e.rows == 0 {
		close(e.empty)
	}
}

// abort ends all lanes and the rows in them at once, and waits for that. No lane is opened from here on.
func (e *Engine) abort(cause error) {
	e.mu.Lock()
	e.stopped = true
	var lanes []*lane
	for l := range e.lanes {
		lanes = append(lanes, l)
	}
	e.mu.Unlock()
	for _, l := range lanes {
		l.end(cause)
	}
	for _, l := range lanes {
		<-l.done
	}
}

// Close ends everything. Rows that have not ended end as failed: [Engine.Drain] waits for them. It may be called again.
func (e *Engine) Close() error {
	e.drain()
	e.reloading.Lock() // a generation that is being opened is not current, but its lanes are known
	defer e.reloading.Unlock()
	e.mu.Lock()
	g := e.current
	e.mu.Unlock()
	if g != nil {
		g.retire()
	}
	e.abort(errStopped)
	return nil
}

// Models are those that are served, in the order of serve.models.
func (e *Engine) Models() []ModelInfo {
	e.mu.Lock()
	g := e.current
	e.mu.Unlock()
	return g.infos
}

// Stats counts.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	queued := e.rows - int(e.running.Load())
	e.mu.Unlock()
	return Stats{Kinds: e.tallies.all(), Queued: max(queued, 0), Refused: e.tallies.refused.Load()}
}
