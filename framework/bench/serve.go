package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mdmhost/mdmhost/framework/bench/traffic"
)

// served is one of the servers that are compared, with what was measured of it.
type served struct {
	*traffic.Server
	name      string
	latencies []float64 // ms of each request, of one setting
	cpu       []float64 // ms of processor time a request, of each round
	passes    []float64 // ms in the runtime that a row's forward pass took, of each round
	seed      atomic.Uint64
}

// serveSettings are what is asked, and by how many clients at once. Rows as the model has them are the case that counts; short ones show where
// forward passes of one row leave a processor idle.
var serveSettings = []struct {
	name    string
	clients int
	tokens  int // 0: as the model has it
	target  string
}{
	{"c1", 1, 0, ""}, {"c8", 8, 0, ">=2.5"}, {"c32", 32, 0, ""}, {"c8_l8", 8, 8, ""},
}

// serve compares servers that let rows of different requests share forward passes with servers that answer one request after the other: real
// processes, over HTTP, on the model molecule as it comes. Each client asks for one row and, when it has it, for the next.
func (b bench) serve(ctx context.Context) (err error) {
	batched, err := b.startServed(ctx, "batched", "true")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, batched.Stop()) }()
	alone, err := b.startServed(ctx, "unbatched", "false")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.Stop()) }()
	for _, set := range serveSettings {
		ms, err := interleave(b.budget, 4, 40,
			subject{batched.name, func() (float64, error) { return batched.round(ctx, set.clients, set.tokens) }},
			subject{alone.name, func() (float64, error) { return alone.round(ctx, set.clients, set.tokens) }})
		if err != nil {
			return err
		}
		for i, s := range []*served{batched, alone} {
			fmt.Printf("# serve %s, %s: %d rounds, %.1f requests/s, p50 %.0f ms, p95 %.0f ms, %.1f ms of processor time a request, %.2f ms in the runtime a row's pass\n", set.name, s.name,
				len(ms[i]), 1e3/median(ms[i]), quantile(s.latencies, 0.5), quantile(s.latencies, 0.95), median(s.cpu), median(s.passes))
		}
		err = errors.Join(
			report(os.Stdout, "serve_batched_vs_unbatched_"+set.name, paired(ms[1], ms[0]), set.target),
			report(os.Stdout, "serve_passes_alone_"+set.name, paired(alone.passes, batched.passes), ""), // what a server without any cost of its own would reach
			report(os.Stdout, "serve_cpu_unbatched_vs_batched_"+set.name, paired(alone.cpu, batched.cpu), ""),
			report(os.Stdout, "serve_p95_unbatched_vs_batched_"+set.name, quantile(alone.latencies, 0.95)/quantile(batched.latencies, 0.95), ""))
		if err != nil {
			return err
		}
		batched.forget()
		alone.forget()
	}
	return nil
}

func (b bench) startServed(ctx context.Context, name, batching string) (*served, error) {
	s, err := traffic.Start(ctx, b.binary, "--model", "molecule", "--set", "serve.batching="+batching)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &served{Server: s, name: name}, nil
}

// forget makes room for the next setting.
func (s *served) forget() { s.latencies, s.cpu, s.passes = nil, nil, nil }

// perRound is how many requests a round has, about; every client asks as often as the others.
const perRound = 32

// round lets clients ask, and returns the milliseconds that a request took of the whole round.
func (s *served) round(ctx context.Context, clients, tokens int) (float64, error) {
	each := max(perRound/clients, 1)
	if clients == 1 {
		each = 8
	}
	before, passesBefore, err := s.spent(ctx)
	if err != nil {
		return 0, err
	}
	var group sync.WaitGroup
	took, failed := make([][]float64, clients), make([]error, clients)
	began := time.Now()
	for i := range clients {
		group.Go(func() {
			for range each {
				start := time.Now()
				if failed[i] = s.one(ctx, tokens); failed[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(start).Seconds()*1e3)
			}
		})
	}
	group.Wait()
	all := time.Since(began).Seconds() * 1e3
	after, passes, err := s.spent(ctx)
	if err := errors.Join(append(failed, err)...); err != nil {
		return 0, err
	}
	requests := float64(clients * each)
	s.latencies = append(s.latencies, slices.Concat(took...)...)
	s.cpu = append(s.cpu, float64((after-before).Milliseconds())/requests)
	s.passes = append(s.passes, (passes.denoise-passesBefore.denoise)*1e3/(passes.nfe-passesBefore.nfe))
	return all / requests, nil
}

// counts are a server's own: seconds in the runtime, and forward passes of rows.
type counts struct{ denoise, nfe float64 }

// spent is what the server has used so far.
func (s *served) spent(ctx context.Context) (time.Duration, counts, error) {
	u, err := s.Usage()
	if err != nil {
		return 0, counts{}, err
	}
	m, err := s.Metrics(ctx)
	return u.CPU, counts{m["mdmhost_denoise_seconds_total"], m["mdmhost_nfe_total"]}, err
}

// one asks for a row and reads it.
func (s *served) one(ctx context.Context, tokens int) error {
	question := map[string]any{"prompt": "", "seed": s.seed.Add(1)}
	if tokens > 0 {
		question["max_tokens"] = tokens
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := wire.Do(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Choices []struct {
			Finish string `json:"finish"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK || len(answer.Choices) != 1 || answer.Choices[0].Finish != "complete" {
		return fmt.Errorf("%s: %s: %.300s", s.name, resp.Status, text)
	}
	return nil
}

// wire keeps a connection for each client.
var wire = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}

// quantile is the value below which the fraction q of the values lies.
func quantile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}
