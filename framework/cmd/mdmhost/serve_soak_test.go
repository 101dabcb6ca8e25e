// Servers are tested as they are shipped, and once: in the build with the Rust tokenizers.

//go:build tokenizers

package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/bench/traffic"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

var soakSeconds = flag.Int("soak.seconds", 6, "how long TestSoakServe asks; 600 is the whole of it")

// soak is a server under everything that happens to one.
type soak struct {
	*testing.T
	server *traffic.Server
	file   string // of its settings
	client *http.Client
	random *rand.Rand // for kills

	mu       sync.Mutex
	sum      traffic.Outcome // of rows
	requests int
	left     int            // rows of clients that left
	told     map[string]int // failures and refusals, by their words
	swaps    int
	refused  int // bad settings
	kills    int
}

// numbers would make one error many.
var numbers = regexp.MustCompile(`[0-9]+`)

// TestSoakServe lets clients come, leave in the middle, and read slowly, while the settings are swapped, and planner processes are killed. Swaps
// fail no request; after a kill every row that fails is told; in the end every row is accounted for, and nothing has grown.
func TestSoakServe(t *testing.T) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("usage of processes is counted on Linux alone")
	}
	s := &soak{T: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, random: rand.New(rand.NewPCG(1, 2)), told: map[string]int{},
		file: filepath.Join(t.TempDir(), "serve.yaml")}
	s.write(0)
	var err error
	if s.server, err = traffic.Start(context.Background(), "mdmhost", "--config", s.file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Stop(); err != nil {
			t.Error(err)
		}
	})
	long := time.Duration(*soakSeconds) * time.Second
	s.phase(long/8, true, false) // what is opened once is open after it
	before := s.rest()
	s.phase(long/2, true, false)
	if s.sum.Failed > 0 || len(s.told) > 0 {
		t.Errorf("swaps of settings failed %d rows: %v", s.sum.Failed, s.told)
	}
	s.phase(long*3/8, false, true)
	after := s.rest()
	t.Logf("%d requests, %d rows complete, %d failed and told, %d of clients that left; %d swaps and %d refused settings; %d kills", s.requests, s.sum.Complete, s.sum.Failed, s.left, s.swaps, s.refused, s.kills)
	t.Logf("memory %d -> %d MiB, of it Go's heap %.0f -> %.0f, files %d -> %d, processes %d -> %d, goroutines %.0f -> %.0f, processor time %v", before.Memory>>20, after.Memory>>20,
		before.metrics["go_memstats_heap_inuse_bytes"]/(1<<20), after.metrics["go_memstats_heap_inuse_bytes"]/(1<<20), before.Files, after.Files,
		len(before.Processes), len(after.Processes), before.goroutines, after.goroutines, after.CPU-before.CPU)
	for _, words := range slices.Sorted(maps.Keys(s.told)) {
		t.Logf("told %d times: %s", s.told[words], words)
	}
	s.account(after)
	if after.Memory > before.Memory*5/4+128<<20 { // the runtime's allocator keeps about 100 MiB of models that were opened and closed, after 20 of them no more
		t.Errorf("memory grew from %d to %d bytes", before.Memory, after.Memory)
	}
	if after.Files > before.Files+4 || len(after.Processes) > len(before.Processes) || after.goroutines > before.goroutines+8 {
		t.Error("files, processes or goroutines grew")
	}
}

// planners of the settings, in turns.
var soakPlanners = []string{"{name: eb, gamma: 0.5}", "{name: confidence, k: 2}", "{name: p2}", "{name: entropy}", "{name: sequential, k: 4}"}

// write puts settings in place, those of turn i.
func (s *soak) write(i int) {
	text := fmt.Sprintf("model: text\nplanner: %s\nsampling.temperature: %g\nserve.max_rows: %d\n", soakPlanners[i%len(soakPlanners)], 0.5+float64(i%3)/4, 16+i%2)
	if err := wholefile.ReplaceBytes(s.file, []byte(text)); err != nil {
		s.Error(err)
	}
}

// phase lets clients ask for a while, with swaps or kills beside them.
func (s *soak) phase(long time.Duration, swaps, kills bool) {
	ctx, cancel := context.WithTimeout(s.Context(), long)
	defer cancel()
	var beside, clients sync.WaitGroup
	if swaps {
		beside.Go(func() { s.swap(ctx, long) })
	}
	if kills {
		beside.Go(func() { s.kill(ctx) })
	}
	first := uint64(s.requests) // other ones than in the phase before
	for i := range uint64(6) {
		clients.Go(func() { s.ask(ctx, rand.New(rand.NewPCG(i, first))) })
	}
	clients.Wait()
	cancel()
	beside.Wait()
}

// ask is a client until ctx ends; a request that is on its way then is waited for.
func (s *soak) ask(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		n := 1 + random.IntN(3)
		question, path := map[string]any{"n": n, "max_tokens": 8 + random.IntN(24), "seed": random.Uint32()}, "/v1/completions"
		switch random.IntN(4) {
		case 0:
			question["planner"] = []string{"eb", "p2", "margin"}[random.IntN(3)]
		case 1:
			path = "/v1/infill"
			delete(question, "max_tokens")
			question["text"] = "the " + strings.Repeat("[MASK]", 4+random.IntN(20)) + " end"
		}
		manner := traffic.Manner{Stream: random.IntN(2) == 0}
		switch random.IntN(6) {
		case 0:
			manner.Leave = 1 + random.IntN(12)
		case 1:
			manner.Slow = time.Duration(random.IntN(30)) * time.Millisecond
		}
		o, err := s.server.Ask(s.Context(), s.client, path, question, n, manner)
		if err != nil {
			s.Errorf("a request failed and was not told so: %v; it asked %s for %v", err, path, question)
		}
		s.count(o)
	}
}

func (s *soak) count(o traffic.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.sum.Complete += o.Complete
	s.sum.Failed += o.Failed
	if o.Left {
		s.left += o.Asked - o.Complete - o.Failed
	}
	if o.Refusal != "" {
		s.told[numbers.ReplaceAllString(o.Refusal, "N")]++
	} else if o.Failed > 0 {
		s.told["rows of an answer"] += o.Failed
	}
}

// swap puts other settings in place again and again, some of them bad, and waits for each to be taken or refused.
func (s *soak) swap(ctx context.Context, long time.Duration) {
	every := max(long/160, 50*time.Millisecond) // a hundred good ones in the whole of it, though each waits for models to open
	for i := s.swaps + 1; ctx.Err() == nil; i++ {
		bad := i%5 == 4
		before := s.metrics()
		name := `mdmhost_reloads_total{result="taken"}`
		if bad {
			name = `mdmhost_reloads_total{result="refused"}`
			if err := wholefile.ReplaceBytes(s.file, []byte("model: text\nplaner: eb\n")); err != nil {
				s.Error(err)
			}
		} else {
			s.write(i)
		}
		if i%2 == 0 { // else the change of the file alone is noticed
			if err := s.server.Signal(syscall.SIGHUP); err != nil {
				s.Error(err)
			}
		}
		s.await(fmt.Sprintf("settings %d are not taken up: %s", i, name), func(m map[string]float64) bool { return m[name] > before[name] })
		s.mu.Lock()
		if s.swaps++; bad {
			s.swaps--
			s.refused++
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	s.write(0)
	if err := s.server.Signal(syscall.SIGHUP); err != nil {
		s.Error(err)
	}
}

// kill ends processes of plugins.
func (s *soak) kill(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+s.random.IntN(700)) * time.Millisecond): // some while it opens again, some when it works again
		}
		u, err := s.server.Usage()
		if err != nil {
			s.Error(err)
			return
		}
		if len(u.Processes) == 0 {
			continue
		}
		if err := syscall.Kill(u.Processes[s.random.IntN(len(u.Processes))], syscall.SIGKILL); err == nil {
			s.kills++
		}
	}
}

// state is what a server at rest uses.
type state struct {
	traffic.Usage
	goroutines float64
	metrics    map[string]float64
}

// rest waits until nothing runs, lets the server begin with the first settings again, and says what it uses.
func (s *soak) rest() state {
	s.Helper()
	s.client.CloseIdleConnections()
	quiet := func(m map[string]float64) bool {
		return m["mdmhost_rows_running"] == 0 && m["mdmhost_queue_rows"] == 0 && m["mdmhost_http_requests_in_flight"] <= 1
	}
	s.await("rows go on though nobody waits for them", quiet)
	time.Sleep(time.Second / 2) // for a change of the file that is not noticed yet
	before := s.metrics()["mdmhost_reloads_total"]
	s.write(0)
	if err := s.server.Signal(syscall.SIGHUP); err != nil {
		s.Error(err)
	}
	s.await("the first settings are not taken up again", func(m map[string]float64) bool { return m["mdmhost_reloads_total"] > before })
	one, err := s.server.Ask(s.Context(), s.client, "/v1/completions", map[string]any{"max_tokens": 8, "seed": 1}, 1, traffic.Manner{})
	if err != nil || one.Complete != 1 {
		s.Fatalf("the server at rest does not answer: %+v, %v", one, err)
	}
	s.count(one)
	s.await("lanes of other settings stay open", func(m map[string]float64) bool { return quiet(m) && m["mdmhost_lanes"] == 1 })
	s.client.CloseIdleConnections()
	var u traffic.Usage
	same := 0
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // processes that were told to end
		again, err := s.server.Usage()
		if err != nil {
			s.Fatal(err)
		}
		if same++; !slices.Equal(again.Processes, u.Processes) || again.Files != u.Files || len(u.Processes) == 0 {
			same = 0
		}
		if same == 20 || time.Now().After(deadline) {
			m := s.metrics()
			return state{again, m["go_goroutines"], m}
		}
		u = again
	}
}

// account holds the server's rows against what clients saw: those that a client left are the server's to end, well or not.
func (s *soak) account(at state) {
	rows := map[string]float64{}
	for name, v := range at.metrics {
		for _, finish := range []string{"finished", "failed", "cancelled"} {
			if strings.HasPrefix(name, "mdmhost_rows_total{") && strings.Contains(name, `finish="`+finish+`"`) {
				rows[finish] += v
			}
		}
	}
	s.Logf("the server counts %v", rows)
	finished, failed := int(rows["finished"]), int(rows["failed"])
	if finished < s.sum.Complete || finished > s.sum.Complete+s.left || failed < s.sum.Failed || failed > s.sum.Failed+s.left {
		s.Errorf("the server counts %d rows finished and %d failed, clients saw %d and %d and left %d", finished, failed, s.sum.Complete, s.sum.Failed, s.left)
	}
	if all := finished + failed + int(rows["cancelled"]); all < s.sum.Complete+s.sum.Failed || all > s.sum.Complete+s.sum.Failed+s.left {
		s.Errorf("the server counts %d rows, clients asked for %d and %d that they left", all, s.sum.Complete+s.sum.Failed, s.left)
	}
	if s.sum.Complete == 0 || s.swaps == 0 || s.kills == 0 {
		s.Errorf("%d rows complete, %d swaps and %d kills: something never happened", s.sum.Complete, s.swaps, s.kills)
	}
}

func (s *soak) metrics() map[string]float64 {
	m, err := s.server.Metrics(s.Context())
	if err != nil {
		s.Error(err)
	}
	return m
}

// await waits for the server's metrics to be so. The deadline only ends a server that hangs.
func (s *soak) await(otherwise string, so func(map[string]float64) bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(s.metrics()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) || s.Context().Err() != nil {
			s.Errorf("%s; the metrics are %v", otherwise, s.metrics())
			return
		}
	}
}
