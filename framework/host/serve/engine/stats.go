package engine

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Stats are the counts of an engine since it was opened. All but Queued, Running and Lanes only grow.
type Stats struct {
	Kinds   []KindStats // by model, planner and sampler
	Queued  int         // rows that wait
	Refused uint64      // questions that found no room
}

// KindStats are those of all lanes with one model, planner and sampler.
type KindStats struct {
	Model, Planner, Sampler string
	Provider                string // of the lane that was opened last
	Batch                   int    // rows that may share its passes

	Lanes          int    // open now
	Opened, Closed uint64 // lanes
	Reopened       uint64 // lanes whose host failed and was replaced

	Replaced uint64 // processes of planners and samplers that died and had others take their place within a run

	Running                     int // rows
	Finished, Failed, Cancelled uint64

	Passes    uint64 // forward passes of a batch
	RowPasses uint64 // rows in them, summed up: RowPasses / (Passes * Batch) is how full they were
	Tokens    uint64 // positions opened in rows that ended
	Denoise   time.Duration
	Plan      time.Duration // planner calls, and the networks of planners
}

// kind is what lanes are counted by.
type kind struct{ model, planner, sampler string }

// tallies are the counts of all kinds.
type tallies struct {
	mu    sync.Mutex
	kinds map[kind]*tally

	refused atomic.Uint64
}

// of returns the counts of a kind.
func (t *tallies) of(k kind) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[kind]*tally{}
	}
	if t.kinds[k] == nil {
		t.kinds[k] = &tally{stats: KindStats{Model: k.model, Planner: k.planner, Sampler: k.sampler}}
	}
	return t.kinds[k]
}

// all returns the counts, by name.
func (t *tallies) all() []KindStats {
	t.mu.Lock()
	kinds := slices.Collect(maps.Values(t.kinds))
	t.mu.Unlock()
	var out []KindStats
	for _, k := range kinds {
		k.mu.Lock()
		out = append(out, k.stats)
		k.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b KindStats) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Planner, b.Planner), cmp.Compare(a.Sampler, b.Sampler))
	})
	return out
}

// tally counts for one kind.
type tally struct {
	mu    sync.Mutex
	stats KindStats
}

func (t *tally) do(f func(*KindStats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.stats)
}

// opened counts a lane.
func (t *tally) opened(m machine) {
	t.do(func(s *KindStats) { s.Lanes++; s.Opened++; s.Provider, s.Batch = m.Provider(), m.MostRows() })
}

// reopened counts a new host of a lane.
func (t *tally) reopened(m machine) {
	t.do(func(s *KindStats) { s.Reopened++; s.Provider, s.Batch = m.Provider(), m.MostRows() })
}

// closed counts the end of a lane.
func (t *tally) closed() { t.do(func(s *KindStats) { s.Lanes--; s.Closed++ }) }

// running counts the rows that run.
func (t *tally) running(more int) { t.do(func(s *KindStats) { s.Running += more }) }

// ended counts the end of a row, and the positions that were opened in it.
func (t *tally) ended(how sampling.Finish, tokens int) {
	t.do(func(s *KindStats) {
		s.Tokens += uint64(tokens)
		switch how {
		case sampling.FinishError:
			s.Failed++
		case sampling.FinishCancelled:
			s.Cancelled++
		default:
			s.Finished++
		}
	})
}

// passed adds what a run did since its last pass, in which so many processes were replaced.
func (t *tally) passed(last, now *sampling.Accounts, replaced int64) {
	t.do(func(s *KindStats) {
		s.Passes += uint64(now.Passes - last.Passes)
		s.RowPasses += uint64(now.RowPasses - last.RowPasses)
		s.Replaced += uint64(replaced)
		s.Denoise += now.Denoise - last.Denoise
		s.Plan += now.Plan + now.Score - last.Plan - last.Score
	})
}
