package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	front "github.com/mdmhost/mdmhost/framework/host/serve/page"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

var serveFlags = []string{
	"listen=serve.listen", "models=serve.models", "model", "planner", "sampler", "runtime", "steps", "batch", "temperature", "top-p", "top-k", "min-p",
}

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer requests over HTTP, in the shape of OpenAI's API",
		Long: "Serve models over HTTP: POST /v1/completions and /v1/infill, as a whole or as a stream of the steps, and a page at / to try them.\n" +
			"Settings given here are the defaults of requests. Requests share forward passes. SIGHUP, or a change of the configuration file, makes\n" +
			"the server read its settings again; what cannot be is refused, and the old settings stay. SIGTERM and SIGINT end it when the requests on\n" +
			"their way are answered, for at most serve.drain seconds; a second one at once. Messages and a line for each request go to standard error.",
		Example: `  mdmhost serve
  mdmhost serve --models molecule:sudoku --planner eb
  mdmhost serve --config mine.yaml --listen 0.0.0.0:8080 --set serve.tokens=tokens.txt
  mdmhost serve --listen unix:/run/mdmhost.sock
  curl localhost:8080/v1/completions --json '{"max_tokens": 24, "n": 2, "seed": 7}'
  curl localhost:8080/v1/infill --json '{"text": "CC(=O)Nc1ccc([MASK])cc1", "stream": true}'`,
		Args: noArgs,
	}
	s := newSettings(c, serveFlags...)
	c.RunE = func(c *cobra.Command, _ []string) error { return s.serve(c.Context()) }
	return c
}

// serve answers requests until ctx ends. The address is taken before anything heavy is opened.
func (s *settings) serve(ctx context.Context) (err error) {
	first, err := s.served(ctx)
	if err != nil {
		return err
	}
	listener, err := serve.Listen(first.Config)
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server closes it, too
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // from here on: one that comes early is not the end of the program
	defer signal.Stop(hup)
	e, err := engine.Open(ctx, first.Config, options(first.Config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	server, err := serve.New(serve.Options{Engine: serve.Of(e), Settings: first, Load: s.served, Page: front.Handler(), Logger: hclog.New(&hclog.LoggerOptions{Name: "serve", Output: os.Stderr})})
	if err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-hup:
				_ = server.Reload(ctx) // it says itself what was wrong
			case <-ctx.Done():
				return
			}
		}
	}()
	fmt.Fprintf(os.Stderr, "mdmhost: listening on %s, serving %s\n", serve.Address(listener.Addr()), servedModels(e))
	return server.Serve(ctx, listener)
}

// servedModels names the models with what runs them.
func servedModels(e *engine.Engine) string {
	var out []string
	for _, m := range e.Models() {
		out = append(out, fmt.Sprintf("%s (%s; planner %s)", m.Name, m.Provider, m.Planner))
	}
	return strings.Join(out, ", ")
}

// served reads the settings from all sources, with the plugins that requests may name.
func (s *settings) served(ctx context.Context) (serve.Settings, error) {
	began := time.Now()
	cfg, err := s.loadChecked(ctx)
	if err != nil {
		return serve.Settings{}, err
	}
	out := serve.Settings{Config: cfg, Read: began}
	for _, name := range cfg.Serve.Models {
		if err := findNamed(name); err != nil {
			return out, config.Problems{{Origin: cfg.Origin("serve.models"), Key: "serve.models", Text: err.Error()}}
		}
	}
	all, err := firstParty(ctx)
	if err != nil {
		return out, err
	}
	add := func(p plugin, name string) {
		out.Plugins = append(out.Plugins, serve.Plugin{Object: string(p.Kind), Name: name, Version: p.Version, Summary: p.Summary, CanRemask: p.CanRemask,
			CanInsert: p.CanInsert, Adaptive: p.Adaptive, Options: p.Options})
	}
	for _, p := range all {
		add(p, p.Name)
	}
	for kind, names := range map[sampling.Kind][]string{sampling.KindPlanner: cfg.Serve.Planners, sampling.KindSampler: cfg.Serve.Samplers} {
		for _, name := range names {
			p, err := find(ctx, kind, name, options(cfg))
			if err != nil {
				return out, config.Problems{{Origin: cfg.Origin("serve." + string(kind) + "s"), Key: "serve." + string(kind) + "s", Text: err.Error()}}
			}
			add(p, name)
		}
	}
	for _, file := range []string{cmp.Or(s.file, os.Getenv(config.EnvFile)), cfg.Serve.Tokens} {
		if _, err := os.Stat(file); file != "" && err == nil { // else the name of a preset
			out.Files = append(out.Files, file)
		}
	}
	return out, out.Check()
}
