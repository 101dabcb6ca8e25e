package main

import (
	"context"
	"strconv"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// loop is the host with planner confidence at temperature 0, the same work as the peers'.
type loop struct {
	*host.Host
	accounts sampling.Accounts // of the last measurement
}

// open opens the model; session are entries of ONNX Runtime's session configuration, KEY=VALUE.
func (b bench) open(ctx context.Context, threads int, inProcess bool, settings ...[2]string) (*loop, error) {
	var given []config.Assignment
	for _, kv := range append([][2]string{
		{"model", b.model}, {"planner.name", "confidence"}, {"runtime.provider", "cpu"}, {"runtime.threads", strconv.Itoa(threads)},
		{"sampling.temperature", "0"}, {"seed", "1"},
	}, settings...) {
		given = append(given, config.Assignment{Key: kv[0], Value: kv[1], Flag: "bench"})
	}
	return openHost(ctx, inProcess, given)
}

// openHost opens a host with nothing but these settings.
func openHost(ctx context.Context, inProcess bool, given []config.Assignment) (*loop, error) {
	cfg, err := config.Load(config.Sources{Flags: given})
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg, host.Options{InProcess: inProcess})
	if err != nil {
		return nil, err
	}
	return &loop{Host: h}, nil
}

// Ids of rxnfp-bert, the same that the peers know.
const (
	bos        = 12
	eos        = 13
	mask       = 14
	vocabulary = 591
)

// measure fills a batch and returns the milliseconds per forward pass, everything that a run does included.
func (l *loop) measure(ctx context.Context, s size) (float64, error) {
	tokens := make([]int32, s.L)
	for i := range tokens {
		tokens[i] = mask
	}
	tokens[0], tokens[s.L-1] = bos, eos
	next := 0
	start := time.Now()
	a, err := l.Sample(ctx, s.B, func() (sampling.Request, bool) {
		next++
		return sampling.Request{Index: int64(next), Tokens: tokens, Steps: s.Steps, Params: sampling.Params{TopP: 1}}, next <= s.B
	}, func(r sampling.Result) error { return r.Err })
	ms := time.Since(start).Seconds() * 1e3
	if err != nil {
		return 0, err
	}
	l.accounts = a
	return ms / float64(a.Passes), nil
}
