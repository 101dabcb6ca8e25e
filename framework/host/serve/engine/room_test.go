package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// opened is how many lanes were opened so far.
func opened(e *Engine) (n uint64) {
	for _, k := range e.Stats().Kinds {
		n += k.Opened
	}
	return n
}

// A lane that was opened for a question is there until the question's rows are in it, however many others want its place: none is opened
// twice for one question.
func TestALaneIsKeptForItsQuestion(t *testing.T) {
	e := faked(t, &fleet{batch: 2, padding: true, pause: time.Millisecond}, "serve.lanes", "1")
	before := opened(e)
	planners := []string{"eb", "random", "margin", "entropy", "maskgit", "p2"}
	var group sync.WaitGroup
	for _, planner := range planners {
		group.Go(func() {
			q := blank(4, 1, 1)
			q.Settings = append(q.Settings, fakeAssignment("planner", planner))
			a, err := e.Ask(context.Background(), q)
			if err != nil {
				t.Errorf("%s: %v", planner, err)
				return
			}
			defer a.Close()
			if diff := cmp.Diff([]string{"complete"}, finishes(t, a)); diff != "" {
				t.Error(diff)
			}
		})
	}
	group.Wait()
	if n := opened(e) - before; n != uint64(len(planners)) {
		t.Errorf("%d lanes were opened for %d questions", n, len(planners))
	}
}

// When the time of a drain is over, a question that waited for room is refused, and no lane is opened for it.
func TestADrainThatGivesUpOpensNothing(t *testing.T) {
	e := faked(t, &fleet{batch: 1, padding: true, pause: 20 * time.Millisecond}, "serve.lanes", "1")
	runs := asked(t, e, blank(120, 1, 1))
	before, refused := opened(e), make(chan error)
	go func() {
		q := blank(120, 1, 1)
		q.Settings = append(q.Settings, fakeAssignment("planner", "random"))
		a, err := e.Ask(context.Background(), q)
		if err == nil {
			a.Close()
		}
		refused <- err
	}()
	for rows := 0; rows < 2; time.Sleep(time.Millisecond) { // both are in
		e.mu.Lock()
		rows = e.rows
		e.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the drain: %v", err)
	}
	if err := <-refused; !errors.Is(err, ErrDraining) {
		t.Errorf("the question that waited: %v", err)
	}
	if diff := cmp.Diff([]string{"error: " + errStopped.Error()}, finishes(t, runs)); diff != "" {
		t.Error(diff)
	}
	if n := opened(e) - before; n != 0 {
		t.Errorf("%d lanes were opened", n)
	}
}

// Questions that need lanes of their own, while a drain gives up at any moment, end.
func TestDrainsGiveUpAnyTime(t *testing.T) {
	for round := range 20 {
		f := &fleet{batch: 2, padding: true, pause: 50 * time.Microsecond}
		e := faked(t, f, "serve.lanes", "64")
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				q := blank(6, 2, uint64(i))
				q.Settings = append(q.Settings, fakeAssignment("sampling.suppress_tokens", fmt.Sprintf("[%d]", i+5)))
				a, err := e.Ask(context.Background(), q)
				if errors.Is(err, ErrDraining) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				defer a.Close()
				finishes(t, a)
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*100*time.Microsecond)
		_ = e.Drain(ctx) // either way
		cancel()
		group.Wait()
		e.mu.Lock()
		if e.rows != 0 {
			t.Errorf("round %d: %d rows are left", round, e.rows)
		}
		e.mu.Unlock()
	}
}

// Long settings of clients are not kept.
func TestLongSettingsAreForgotten(t *testing.T) {
	e := faked(t, &fleet{batch: 1, padding: true})
	g, err := e.generation()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stop string
		kept int
	}{{strings.Repeat("x", rememberable), 0}, {"x", 1}} {
		q := blank(1, 1, 1)
		q.Settings = append(q.Settings, fakeAssignment("sampling.stop", `["`+c.stop+`"]`))
		if _, err := g.settle(g.models["text"], &q); err != nil {
			t.Fatal(err)
		}
		if len(g.known) != c.kept {
			t.Errorf("%d bytes: %d settings are kept, expected %d", len(c.stop), len(g.known), c.kept)
		}
	}
}
