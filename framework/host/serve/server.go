// Package serve answers requests over HTTP: completions and infills in the shape of OpenAI's API, as a whole or as a stream of the steps,
// with what an operator needs around them: health, metrics, traces, limits, and settings that can be replaced while it runs.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/model"
)

// Engine is what samples; [Of] makes one of an [engine.Engine]. Its methods are called from many goroutines.
type Engine interface {
	Models() []engine.ModelInfo
	// Ask checks a question and lets its rows wait. The error is an [engine.RequestError], [engine.UnknownModelError],
	// [engine.ErrBusy], [engine.ErrDraining], or something that the operator must see.
	Ask(context.Context, engine.Question) (Answer, error)
	// Reload takes up other settings, or leaves everything as it is and says why.
	Reload(context.Context, *config.Config) error
	// Drain takes no more questions, and returns when all rows have ended; when ctx ends first, rows on their way are cancelled.
	Drain(context.Context) error
	Stats() engine.Stats
}

// Answer is a question on its way: what [engine.Answer] is.
type Answer interface {
	Rows() int
	Seed() uint64
	Notes() []string
	Model() *model.Model
	Prompt(row int) (tokens []int32, given []bool) // [L], [L]
	Next(context.Context) (engine.Event, error)    // io.EOF after the end of the last row
	Close()
}

// Settings are what a server can be told anew while it runs.
type Settings struct {
	Config  *config.Config
	Plugins []Plugin  // that requests may name
	Files   []string  // that the settings were read from, and that are watched
	Read    time.Time // when that began; zero: not known
}

// Options are what a server is made of.
type Options struct {
	Engine   Engine
	Settings Settings
	// Load reads the settings again, from where the first ones came; nil: they stay.
	Load   func(context.Context) (Settings, error)
	Page   http.Handler // of /, or nil
	Logger hclog.Logger // nil: nothing is logged

	Beat     time.Duration // between signs of life in a stream; 0: 10 s
	Patience time.Duration // for a client that does not read or write; 0: 20 s
}

// Server answers requests. It is made by [New] and ended by the context of [Server.Serve].
type Server struct {
	Options
	live      atomic.Pointer[live]
	draining  atomic.Bool
	metrics   *metrics
	tracing   *tracing
	handler   http.Handler
	reloading sync.Mutex
	loaded    Settings // reloading
	reload    atomic.Pointer[reloadStatus]
	loopback  bool          // it listens where only this machine can ask
	taken     chan struct{} // has room for one: the watch is to look what was taken up
	watching  atomic.Bool
}

// New makes a server. The error is of type [config.Problems] where the settings cannot be.
func New(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Beat == 0 {
		o.Beat = 10 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	l, err := newLive(o.Settings)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, loaded: o.Settings, taken: make(chan struct{}, 1)}
	s.live.Store(l)
	s.reload.Store(&reloadStatus{})
	s.metrics = newMetrics(o.Engine)
	if s.tracing, err = newTracing(o.Settings.Config, o.Logger); err != nil {
		return nil, err
	}
	s.handler = s.routes()
	return s, nil
}

// routes are all that can be asked for.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/completions", s.generate(completion))
	mux.HandleFunc("POST /v1/infill", s.generate(infill))
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /v1/models/{name...}", s.oneModel)
	mux.HandleFunc("GET /v1/planners", s.plugins("planner"))
	mux.HandleFunc("GET /v1/samplers", s.plugins("sampler"))
	mux.HandleFunc("GET /healthz", s.alive)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /{$}", s.page)
	return s.observed(s.guarded(s.worded(mux)))
}

// generate answers with rows.
func (s *Server) generate(k kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entry, asked := entryOf(r.Context()), time.Now()
		body, err := s.body(w, r)
		if err != nil {
			entry.refuse(w, failureOf(err))
			return
		}
		request, err := readRequest(k, body)
		if err != nil {
			entry.refuse(w, failureOf(err))
			return
		}
		entry.plan(request)
		answer, err := s.Engine.Ask(r.Context(), request.question)
		if err != nil && r.Context().Err() != nil { // the client left while its question was looked at
			entry.left(err)
			return
		}
		if err != nil {
			f := failureOf(err)
			if f.status >= 500 && f.status != http.StatusServiceUnavailable {
				s.Logger.Error("a question could not be asked", "error", err)
			}
			entry.refuse(w, f)
			return
		}
		defer answer.Close()
		j := s.newJob(request, answer, entry, asked)
		out := newPatient(w, s.Patience)
		if request.stream {
			err = j.events(r.Context(), out, s.Beat)
		} else {
			err = j.whole(r.Context(), out)
		}
		if err != nil {
			entry.left(err)
		}
	}
}

// Serve answers until ctx ends: then it takes no more questions, lets rows end for as long as serve.drain says, cancels the rest and
// closes l. The error says what went wrong; a good end is nil. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.loopback = onLoopback(l.Addr())
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: min(10*time.Second, s.Patience), IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnState: s.metrics.connection, ErrorLog: s.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(watching) })
	defer watch.Wait()
	defer stop()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("%s: %w", l.Addr(), err), s.tracing.close())
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.Logger.Info("stopping", "drain_s", s.live.Load().drain.Seconds())
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.live.Load().drain)
	defer cancel()
	if err := s.Engine.Drain(draining); err != nil {
		s.Logger.Warn("rows on their way were cancelled", "error", err)
	}
	closing, cancelClosing := context.WithTimeout(context.WithoutCancel(ctx), s.Patience)
	defer cancelClosing()
	err := server.Shutdown(closing) // every answer has its end: only slow readers are left
	if err != nil {
		err = errors.Join(fmt.Errorf("clients that did not read were cut off: %w", err), server.Close())
	}
	<-failed
	return errors.Join(err, s.tracing.close())
}

// real makes an [engine.Engine] an [Engine].
type real struct{ *engine.Engine }

// Of is an engine as a server takes it.
func Of(e *engine.Engine) Engine { return real{e} }

func (r real) Ask(ctx context.Context, q engine.Question) (Answer, error) {
	a, err := r.Engine.Ask(ctx, q)
	if err != nil {
		return nil, err // not a nil answer within an interface
	}
	return a, nil
}
