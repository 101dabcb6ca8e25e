package supervise_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// soak makes the tests of endurance run in full (`./dev soak`); without it they run a tenth.
var soak = flag.Bool("soak", false, "run the tests of endurance in full")

// endure is how often something is done.
func endure(n int) int {
	if *soak {
		return n
	}
	return n / 10
}

// told prints the figures of a full run, which the documentation quotes.
func told(format string, args ...any) {
	if *soak {
		fmt.Printf("soak: "+format+"\n", args...)
	}
}

// moments are those at which a process can die, as errors and the log tell them.
var moments = []string{"during Plan", "during Sample", "during Start", "before the handshake", "during Describe", "during End", "between two runs"}

// TestSoakKills: 200 kills at random moments. A planner that says that it is pure goes on with the same rows; with a planner that
// may remember something, or a sampler, the run ends with an error and every row that was finished, and the next run starts at once.
func TestSoakKills(t *testing.T) {
	whole, err := soakRun(t, earliest(), masked.New())
	if err != nil || len(whole.out) != soakRows {
		t.Fatal(whole, err)
	}
	for _, c := range []struct {
		kind  sampling.Kind
		name  string
		kills int
		goes  bool // on, whatever happens
	}{
		{sampling.KindPlanner, "earliest", endure(100), true},
		{sampling.KindPlanner, "earliest-memory", endure(50), false},
		{sampling.KindSampler, "grid", endure(50), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, shown := logged(hclog.Debug)
			p, err := launch(t, supervise.Spec{Kind: c.kind, Name: c.name, Logger: log})
			if err != nil {
				t.Fatal(err)
			}
			planner, sampler := earliest(), masked.New()
			if c.kind == sampling.KindPlanner {
				planner = p.Planner()
			} else {
				sampler = p.Sampler()
			}
			began := time.Now()
			undisturbed(t, whole, planner, sampler)
			k := killer{process: p, long: time.Since(began), random: rand.New(rand.NewPCG(7, uint64(c.kills)))}
			runs, ended := 0, 0
			for ; k.kills < c.kills; runs++ {
				over, done := make(chan struct{}), make(chan struct{})
				go func() { // two at most: a run bears three deaths, and one may be left from the run before
					defer close(done)
					k.strike(min(c.kills-k.kills, 1+k.random.IntN(2)), over)
				}()
				r, err := soakRun(t, planner, sampler)
				close(over)
				<-done
				if err != nil {
					ended++
				}
				r.survived(t, c.goes, whole, err)
			}
			undisturbed(t, whole, planner, sampler)
			told("%d kills of %s %s in %d runs: %s; %d runs ended with an error, none lost a finished row",
				k.kills, c.kind, c.name, runs, died(shown.String()), ended)
		})
	}
}

// undisturbed holds a run that nobody disturbs against the one in process.
func undisturbed(t *testing.T, whole *soakedRun, planner sampling.Planner, sampler sampling.Sampler) {
	t.Helper()
	r, err := soakRun(t, planner, sampler)
	if err != nil {
		t.Fatal(err)
	}
	r.survived(t, true, whole, nil)
}

// died counts the moments of death that a log tells.
func died(log string) string {
	count := map[string]int{}
	for line := range strings.Lines(log) {
		for _, moment := range moments {
			told := strings.Contains(line, ": ended: ") || moment == "before the handshake" // which ends no plugin that had begun
			if told && strings.Contains(line, moment) {
				count[moment]++
			}
		}
	}
	var all []string
	for _, moment := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d %s", count[moment], moment))
	}
	return strings.Join(all, ", ")
}

// killer kills a process at random moments.
type killer struct {
	process *supervise.Process
	long    time.Duration // that a whole run takes
	random  *rand.Rand
	last    int // process
	kills   int
}

// strike kills up to so many processes, each after a random part of a run. When the run is over the last may be one that stands idle.
func (k *killer) strike(times int, over <-chan struct{}) {
	for range times {
		time.Sleep(time.Duration(k.random.Float64() * 1.2 * float64(k.long)))
		for {
			if pid := k.process.Pid(); pid != 0 && pid != k.last && syscall.Kill(pid, syscall.SIGKILL) == nil {
				k.last, k.kills = pid, k.kills+1
				break
			}
			select {
			case <-over: // nobody starts another
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
	}
}

// sameRows compares what was sampled, not how long it took; nobody asks for log-probabilities, which are NaN.
var sameRows = cmp.Options{cmpopts.IgnoreFields(sampling.Result{}, "Elapsed"), cmpopts.EquateNaNs()}

// soakedRun is what came out of a run, and what was to be seen of it.
type soakedRun struct {
	out      []sampling.Result
	admitted map[int64]bool
	written  map[int64]bool // rows that had no mask left at some time
}

// Admitted implements [sampling.Observer].
func (r *soakedRun) Admitted(f sampling.Frame) { r.admitted[f.Index] = true }

// Stepped implements [sampling.Observer].
func (r *soakedRun) Stepped(f sampling.Frame) {
	if !slices.ContainsFunc(f.Flags, func(f sampling.Flags) bool { return f&sampling.Masked != 0 }) {
		r.written[f.Index] = true
	}
}

// Finished implements [sampling.Observer].
func (*soakedRun) Finished(sampling.Result) {}

// survived holds what came out of a run against one that nobody disturbed.
func (r *soakedRun) survived(t *testing.T, goes bool, whole *soakedRun, err error) {
	t.Helper()
	var e *sampling.Error
	switch {
	case err == nil:
		if diff := cmp.Diff(whole.out, r.out, sameRows); diff != "" {
			t.Error(diff)
		}
		return
	case goes || !errors.As(err, &e) || e.Code != sampling.Crashed:
		t.Errorf("the run ended: %v", err)
	}
	for _, row := range r.out {
		if !r.admitted[row.Index] {
			t.Errorf("row %d comes out twice, or never went in", row.Index)
		}
		delete(r.admitted, row.Index)
		if row.Finish == sampling.FinishError && !r.written[row.Index] {
			continue
		}
		at := slices.IndexFunc(whole.out, func(w sampling.Result) bool { return w.Index == row.Index })
		if diff := cmp.Diff(whole.out[at], row, sameRows); diff != "" {
			t.Error(diff)
		}
	}
	if len(r.admitted) > 0 {
		t.Errorf("rows %v are lost", r.admitted)
	}
}

// soakRun samples six rows, two at a time. Plugins must start, whatever happened to them before.
func soakRun(t *testing.T, planner sampling.Planner, sampler sampling.Sampler) (*soakedRun, error) {
	t.Helper()
	needs, err := planner.Start(context.Background(), sampling.Run{ID: "soak"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sampler.Start(context.Background(), sampling.Run{ID: "soak"}); err != nil {
		t.Fatal(err)
	}
	r, next := &soakedRun{admitted: map[int64]bool{}, written: map[int64]bool{}}, int64(0)
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: &counting{}, Planner: planner, PlannerName: "earliest", SamplerName: "grid", PlannerNeeds: needs,
		MaskID: 3, V: 3, Rows: 2, Seed: 5, Observers: []sampling.Observer{r},
		Next: func() (sampling.Request, bool) {
			q := sampling.Request{Index: next, Tokens: make([]int32, 24)}
			for i := range q.Tokens { // 4, 8, 12 ... blanks, so that rows finish one after the other
				if q.Tokens[i] = 3; i >= 4+4*int(next) {
					q.Tokens[i] = int32(i % 3)
				}
			}
			next++
			return q, next <= soakRows
		},
		Sink: func(row sampling.Result) error { r.out = append(r.out, row); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err = sampler.Sample(context.Background(), loop); err == nil {
		err = loop.Done()
	}
	if err != nil {
		if also := loop.Abort(err); also != nil {
			t.Error(also)
		}
	}
	return r, errors.Join(err, planner.End(context.Background()), sampler.End(context.Background()))
}

const soakRows = 6

// counting is a denoiser whose proposals depend on the position and on how much is written. It takes its time, as models do.
type counting struct{ zeros }

func (c *counting) Run(ctx context.Context) (*sampling.Statistics, error) {
	time.Sleep(time.Millisecond)
	s, err := c.zeros.Run(ctx)
	for row := range s.B {
		written := 0
		for i := range s.L {
			if c.batch.Tokens[row*s.L+i] != 3 {
				written++
			}
		}
		for i := range s.L {
			s.Proposal[row*s.L+i] = int32((i + written) % 3)
		}
	}
	return s, err
}
