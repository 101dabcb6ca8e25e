package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// asked is the answer to a question that must be taken.
func asked(t *testing.T, e *Engine, q Question) *Answer {
	t.Helper()
	a, err := e.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// finishes reads an answer to its end.
func finishes(t *testing.T, a *Answer) (out []string) {
	t.Helper()
	for range a.Rows() {
		e, err := a.Next(t.Context())
		for err == nil && e.Step != nil {
			e, err = a.Next(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSuffix(string(e.Done.Finish)+": "+e.Done.Error, ": "))
	}
	return out
}

// A request with many rows does not keep one with a single row waiting: they take turns.
func TestTurns(t *testing.T) {
	var q queue
	many, one, two := &Answer{rows: make([]row, 4), waiting: []int{0, 1, 2, 3}}, &Answer{rows: make([]row, 1), waiting: []int{0}}, &Answer{rows: make([]row, 2), waiting: []int{0, 1}}
	names := map[*Answer]string{many: "many", one: "one", two: "two"}
	for _, a := range []*Answer{many, one, two} {
		q.push(a)
	}
	var got []string
	pop := func(fits func(ref) bool) bool {
		r, skipped, ok := q.pop(fits)
		if ok {
			got = append(got, names[r.answer]+map[bool]string{true: " before its turn"}[skipped])
		}
		return ok
	}
	all := func(ref) bool { return true }
	pop(all)
	pop(all)
	pop(func(r ref) bool { return r.answer == many })
	q.again([]ref{{many, 0}, {one, 0}})
	for pop(all) {
	}
	want := []string{"many", "one", "many before its turn", "many", "one", "two", "many", "two", "many"}
	if diff := cmp.Diff(want, got); diff != "" || q.size != 0 {
		t.Errorf("%d rows are left; (-want +got):\n%s", q.size, diff)
	}
}

// Where rows of one length alone share passes, those of another are not let wait for ever by a stream of them.
func TestLengthsTakeTurns(t *testing.T) {
	cfg := fakeConfig(t)
	l := &lane{settled: &settled{cfg: cfg}, batching: true, machine: &fake{&fleet{batch: 2}}, flying: map[int64]ref{}, running: func(int) {}, tally: &tally{}}
	of := func(length, rows int) *Answer {
		requests := make([]sampling.Request, rows)
		for i := range requests {
			requests[i].Tokens = make([]int32, length)
		}
		a := newAnswer(t.Context(), 0, nil, 0, requests, false, func() {})
		l.queue.push(a)
		return a
	}
	short, long := of(2, 100), of(5, 2)
	var order []int
	for range 200 {
		for len(l.flying) < 2 {
			r, ok := l.next()
			if !ok {
				break
			}
			order = append(order, len(r.Tokens))
		}
		if len(l.flying) == 0 {
			break
		}
		lengths := map[int]bool{}
		for _, r := range l.flying {
			lengths[len(r.get().request.Tokens)] = true
		}
		if len(lengths) > 1 {
			t.Fatal("rows of two lengths share a pass")
		}
		delete(l.flying, slices.Min(slices.Collect(maps.Keys(l.flying))))
	}
	if at := slices.Index(order, 5); at < 2 || at > 2+patience*2 || len(order) != 102 {
		t.Errorf("%d rows in all, the first of the other length in place %d", len(order), at)
	}
	short.Close()
	long.Close()
}

// Without batching no pass has rows of two requests.
func TestOneRequestAtATime(t *testing.T) {
	f := &fleet{batch: 4, padding: true}
	f.mixed = func(batch []sampling.Request) {
		for _, r := range batch {
			if r.Noise.Seed != batch[0].Noise.Seed {
				t.Errorf("rows of seeds %d and %d share a pass", r.Noise.Seed, batch[0].Noise.Seed)
			}
		}
	}
	e := faked(t, f, "serve.batching", "false")
	a, b := asked(t, e, blank(4, 6, 1)), asked(t, e, blank(4, 6, 2))
	finishes(t, a)
	finishes(t, b)
}

// Rows that bring a machine down twice end with the error; rows beside them do not.
func TestARowThatBreaksMachines(t *testing.T) {
	f := &fleet{batch: 4, padding: true}
	e := faked(t, f)
	e.open = func(ctx context.Context, s *settled) (machine, error) {
		m, err := f.make(ctx, s)
		return poisoned{m}, err
	}
	q := func(seed uint64) Question {
		q := blank(4, 2, seed)
		q.Settings = append(q.Settings, fakeAssignment("planner", "margin")) // a lane of its own
		return q
	}
	good, bad, also := asked(t, e, q(1)), asked(t, e, q(666)), asked(t, e, q(3))
	for _, a := range []*Answer{good, also} {
		if diff := cmp.Diff([]string{"complete", "complete"}, finishes(t, a)); diff != "" {
			t.Error(diff)
		}
	}
	for _, end := range finishes(t, bad) {
		if end != "error: "+errBroken.Error() {
			t.Errorf("the row that breaks machines: %s", end)
		}
	}
}

// poisoned is a machine that breaks at rows of one seed.
type poisoned struct{ machine }

func (p poisoned) Live(ctx context.Context, run host.Live) error {
	ctx, cancel := context.WithCancelCause(ctx)
	next := run.Next
	run.Next = func() (sampling.Request, bool) {
		r, ok := next()
		if ok && r.Noise.Seed == 666 {
			cancel(errBroken)
		}
		return r, ok
	}
	if err := p.machine.Live(ctx, run); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Rows that wait end when their request's time is over, and say why; so do those that run.
func TestTimeIsOver(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: 5 * time.Millisecond}
	e := faked(t, f, "serve.timeout", "0.05")
	got := finishes(t, asked(t, e, blank(40, 3, 1)))
	want := "cancelled: the request took longer than serve.timeout, 50ms; ask for fewer rows or steps, or raise it"
	if diff := cmp.Diff([]string{want, want, want}, got); diff != "" {
		t.Error(diff)
	}
}

// stuck is a machine that hangs with its first rows in flight, whatever their contexts say.
type stuck struct {
	machine
	freed chan struct{}
}

func (s *stuck) Live(ctx context.Context, run host.Live) error {
	next := run.Next
	run.Next = func() (sampling.Request, bool) {
		r, ok := next()
		if ok && r.Noise.Seed == 666 {
			<-s.freed
		}
		return r, ok
	}
	return s.machine.Live(ctx, run)
}

// A row in a call that hangs ends a moment after its request's time is over, too, and only once.
func TestTimeIsOverInACallThatHangs(t *testing.T) {
	f, freed := &fleet{batch: 1, padding: true}, make(chan struct{})
	e, err := open(t.Context(), fakeConfig(t, "serve.timeout", "0.05"), host.Options{}, func(ctx context.Context, s *settled) (machine, error) {
		m, err := f.make(ctx, s)
		return &stuck{machine: m, freed: freed}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := finishes(t, asked(t, e, blank(4, 2, 666))) // while the machine hangs
	if len(got) != 2 || !strings.HasPrefix(got[0], "cancelled: the request took longer") || got[1] != got[0] {
		t.Errorf("rows ended %q", got)
	}
	close(freed)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	var cancelled uint64
	for _, k := range e.Stats().Kinds {
		cancelled += k.Cancelled
	}
	if cancelled != 2 || e.rows != 0 {
		t.Errorf("%d rows are counted as cancelled, %d have not ended", cancelled, e.rows)
	}
}

// A client that leaves makes room.
func TestAClientLeaves(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: 20 * time.Millisecond}
	e := faked(t, f)
	gone, stays := asked(t, e, blank(120, 4, 1)), asked(t, e, blank(2, 1, 2))
	gone.Close()
	if diff := cmp.Diff([]string{"complete"}, finishes(t, stays)); diff != "" {
		t.Error(diff)
	}
	if ends := finishes(t, gone); slices.ContainsFunc(ends, func(s string) bool { return s != "cancelled: the client has left" }) {
		t.Errorf("ends of the rows of a client that left: %q", ends)
	}
}

// No more rows wait than may, and none are taken by a server that is about to stop.
func TestNoRoom(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: 20 * time.Millisecond}
	e := faked(t, f, "serve.queue", "3")
	first := asked(t, e, blank(100, 3, 1))
	if _, err := e.Ask(t.Context(), blank(1, 2, 1)); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond the queue: %v", err)
	}
	if _, err := e.Ask(t.Context(), blank(1, 4, 1)); !isRequest(err) {
		t.Errorf("more rows than the queue has places: %v", err)
	}
	first.Close()
	finishes(t, first)
	if got := e.Stats(); got.Refused != 1 || got.Queued != 0 {
		t.Errorf("refused %d, queued %d", got.Refused, got.Queued)
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.Ask(t.Context(), blank(1, 1, 1)); !errors.Is(err, ErrDraining) {
		t.Errorf("after the drain: %v", err)
	}
}

func isRequest(err error) bool {
	var r *RequestError
	return errors.As(err, &r)
}

// A drain whose time is over ends the rows that are left.
func TestDrainEnds(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: 20 * time.Millisecond}
	e := faked(t, f)
	a := asked(t, e, blank(120, 2, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := e.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain: %v", err)
	}
	want := "error: " + errStopped.Error()
	if diff := cmp.Diff([]string{want, want}, finishes(t, a)); diff != "" {
		t.Error(diff)
	}
}

// Where all lanes are taken, the one that was idle longest makes room.
func TestTheOldestLaneMakesRoom(t *testing.T) {
	f := &fleet{batch: 1, padding: true}
	e := faked(t, f, "serve.lanes", "2")
	for _, planner := range []string{"margin", "random", "margin", "confidence", "random"} {
		q := blank(2, 1, 1)
		q.Settings = append(q.Settings, fakeAssignment("planner", planner))
		finishes(t, asked(t, e, q))
		g, err := e.generation()
		if err != nil {
			t.Fatal(err)
		}
		g.mu.Lock()
		if n := len(g.lanes); n > 2 {
			t.Errorf("%d lanes are open, expected 2 at most", n)
		}
		g.mu.Unlock()
	}
}

// A question for another lane waits until one has nothing to do.
func TestALaneIsWaitedFor(t *testing.T) {
	f := &fleet{batch: 1, padding: true, pause: time.Millisecond}
	e := faked(t, f, "serve.lanes", "1")
	busy := asked(t, e, blank(20, 1, 1))
	q := blank(2, 1, 2)
	q.Settings = append(q.Settings, fakeAssignment("planner", "margin"))
	ctx, cancel := context.WithTimeout(t.Context(), patient/2) // it need not be asked twice
	defer cancel()
	a, err := e.Ask(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if diff := cmp.Diff([]string{"complete", "complete"}, append(finishes(t, busy), finishes(t, a)...)); diff != "" {
		t.Error(diff)
	}
}

// A reader that does not keep up gets the latest step of each row, and then the end.
func TestALateReader(t *testing.T) {
	f := &fleet{batch: 4, padding: true}
	e := faked(t, f)
	q := blank(50, 3, 1)
	q.Steps = true
	a := asked(t, e, q)
	for ended := false; !ended; {
		a.mu.Lock()
		ended = a.going == 0
		a.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		step, err := a.Next(t.Context())
		if err != nil || step.Step == nil || step.Step.Step != step.Step.Steps-1 {
			t.Fatalf("expected the last step of a row, found %+v, %v", step, err)
		}
		end, err := a.Next(t.Context())
		if err != nil || end.Done == nil || end.Row != step.Row {
			t.Fatalf("expected the end of row %d, found %+v, %v", step.Row, end, err)
		}
	}
}

// What a row's step costs where nobody wants steps: no memory.
func TestStepsWithoutReaderAreFree(t *testing.T) {
	a := &Answer{rows: make([]row, 1)}
	l := &lane{slots: []ref{{a, 0}}}
	var o sampling.Observer = observer{l}
	f := sampling.Frame{Tokens: make([]int32, 64), Flags: make([]sampling.Flags, 64)}
	if n := testing.AllocsPerRun(100, func() { o.Stepped(f) }); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
	a.steps, a.news = true, make(chan struct{}, 1)
	o.Stepped(f)
	f.Step = 1
	if n := testing.AllocsPerRun(100, func() { o.Stepped(f); f.Step++ }); n > 1 { // the frame itself may move to the heap
		t.Errorf("%v allocations a step that replaces one that was not read", n)
	}
}
