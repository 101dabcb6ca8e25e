package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// insertion compares milliseconds per forward pass and per generated token of rows that grow, everything that a run does
// included, with the same network in a PyTorch loop.
func (b bench) insertion(ctx context.Context) (err error) {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, threads := range []int{1, 2} {
		if err := errors.Join(b.compareGrowth(ctx, dir, b.growing, threads), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// compareGrowth measures batches of several sizes with a number of threads.
func (b bench) compareGrowth(ctx context.Context, dir, at string, threads int) (err error) {
	torch, err := b.startTorch(dir, "torch_insertion.py", at, strconv.Itoa(threads))
	if err != nil {
		return err
	}
	if torch != nil {
		defer func() { err = errors.Join(err, torch.close()) }()
		fmt.Println("#", torch.name)
	}
	for _, rows := range []int{1, 8, 32} {
		if err := errors.Join(b.compareRows(ctx, at, threads, rows, torch), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// growthSteps are the steps of a row.
const growthSteps = 128

// grown adds up what batches took.
type grown struct {
	ms          float64
	nfe, tokens int
}

func (b bench) compareRows(ctx context.Context, at string, threads, rows int, torch *peer) (err error) {
	h, err := openGrowing(ctx, at, threads, rows)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	var ours, theirs grown
	subjects := []subject{{"mdmhost", func() (float64, error) { return ours.sample(ctx, h, rows) }}}
	if torch != nil {
		subjects = append(subjects, subject{"torch", func() (float64, error) {
			var took struct {
				MS          float64
				NFE, Tokens int
			}
			if err := torch.ask(map[string]int{"b": rows, "steps": growthSteps}, &took); err != nil {
				return 0, err
			}
			return theirs.add(took.MS, took.NFE, took.Tokens), nil
		}})
	}
	ms, err := interleave(b.budget, 5, 40, subjects...)
	if err != nil {
		return err
	}
	size := fmt.Sprintf("b%d_t%d", rows, threads)
	fmt.Printf("# insertion_%s: %d rounds, ms per NFE and per token: mdmhost %.2f %.3f", size, len(ms[0]), median(ms[0]), ours.perToken())
	if torch == nil {
		fmt.Println()
		return nil
	}
	fmt.Printf(", torch %.2f %.3f\n", median(ms[1]), theirs.perToken())
	return errors.Join(report(os.Stdout, "insertion_nfe_vs_torch_"+size, paired(ms[0], ms[1]), "<=0.6"),
		report(os.Stdout, "insertion_token_vs_torch_"+size, ours.perToken()/theirs.perToken(), "<=0.6"))
}

// add returns the milliseconds per forward pass.
func (g *grown) add(ms float64, nfe, tokens int) float64 {
	g.ms, g.nfe, g.tokens = g.ms+ms, g.nfe+nfe, g.tokens+tokens
	return ms / float64(nfe)
}

func (g *grown) perToken() float64 { return g.ms / float64(max(g.tokens, 1)) }

func openGrowing(ctx context.Context, at string, threads, rows int) (*host.Host, error) {
	var given []config.Assignment
	for _, kv := range [][2]string{{"model", at}, {"runtime.provider", "cpu"}, {"runtime.threads", strconv.Itoa(threads)}, {"batch", strconv.Itoa(rows)}, {"sampling.temperature", "1"}, {"sampling.top_p", "1"},
		{"sampler.name", "insertion"}, {"seed", "1"}} {
		given = append(given, config.Assignment{Key: kv[0], Value: kv[1], Flag: "bench"})
	}
	cfg, err := config.Load(config.Sources{Flags: given})
	if err != nil {
		return nil, err
	}
	return host.Open(ctx, cfg, host.Options{})
}

// sample fills a batch of new rows.
func (g *grown) sample(ctx context.Context, h *host.Host, rows int) (float64, error) {
	row, err := h.Model().EncodePrompt("", 0)
	if err != nil {
		return 0, err
	}
	next, tokens := 0, 0
	start := time.Now()
	a, err := h.Sample(ctx, rows, func() (sampling.Request, bool) {
		next++
		return sampling.Request{Index: int64(g.nfe + next), Tokens: row.Tokens, Fixed: row.Fixed, FrozenGap: row.FrozenGap, Steps: growthSteps, Params: sampling.Params{Temperature: 1, TopP: 1}}, next <= rows
	}, func(r sampling.Result) error {
		tokens += len(r.Tokens) - len(row.Tokens)
		return r.Err
	})
	if err != nil {
		return 0, err
	}
	return g.add(time.Since(start).Seconds()*1e3, a.Passes, tokens), nil
}
