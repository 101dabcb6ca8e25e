package serve

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// entry is what is known of a request when it ends: a line of the log, and a trace. One goroutine writes it.
type entry struct {
	tracing *tracing
	ctx     context.Context // with its span
	span    trace.Span

	code     string // of its error, or ""
	gone     error  // why the client did not get all
	model    string
	planner  string // that it named; where traces are kept, that of the model where it named none
	sampler  string // likewise
	stream   bool
	rows     int
	seed     uint64
	nfe      int
	tokens   int // made
	finishes map[sampling.Finish]int
	begun    time.Time // when its first row ran
	first    time.Time // when there was something to tell: a step, or a row
}

type entryKey struct{}

// entryOf is the entry of a request that came through [Server.observed].
func entryOf(ctx context.Context) *entry { return ctx.Value(entryKey{}).(*entry) }

// refuse answers with a failure.
func (e *entry) refuse(w http.ResponseWriter, f *failure) {
	e.failed(f)
	f.write(w)
}

// failed notes how a request failed.
func (e *entry) failed(f *failure) {
	if f.Code != nil {
		e.code = *f.Code
	}
}

// plan notes what a request asks for.
func (e *entry) plan(r *request) {
	e.stream = r.stream
	for _, s := range r.question.Settings {
		switch s.Key {
		case "planner.name":
			e.planner = s.Value
		case "sampler.name":
			e.sampler = s.Value
		}
	}
}

// lane is what the rows ran in, as /metrics tells lanes apart.
func (e *entry) lane() string { return e.model + "/" + e.planner + "/" + e.sampler }

// stepped notes that there is news.
func (e *entry) stepped() {
	if e.first.IsZero() {
		e.first = time.Now()
	}
}

// ended notes the end of a row, with the tokens that were made.
func (e *entry) ended(row *results.Row, made int, asked time.Time) {
	e.stepped()
	now := time.Now()
	begun := now.Add(-time.Duration(row.MS * float64(time.Millisecond)))
	if begun.Before(asked) {
		begun = asked
	}
	if e.begun.IsZero() || begun.Before(e.begun) {
		e.begun = begun
	}
	if e.finishes == nil {
		e.finishes = map[sampling.Finish]int{}
	}
	e.finishes[row.Finish]++
	e.nfe, e.tokens = e.nfe+row.NFE, e.tokens+made
	e.tracing.row(e, row, made, begun, now)
}

// left notes that the client did not get all.
func (e *entry) left(err error) { e.gone = err }

// recorder is a response of which status and length are known.
type recorder struct {
	http.ResponseWriter
	status int // 0 until it is written
	bytes  int64
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(text)
	r.bytes += int64(n)
	return n, err
}

// statusGone is what the log says of a client that left before its answer began, as other servers do.
const statusGone = 499

// observed counts, logs and traces requests, and keeps a panic of one from the others.
func (s *Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		e := &entry{tracing: s.tracing}
		e.ctx, e.span = s.tracing.begin(r)
		out := &recorder{ResponseWriter: w}
		r = r.WithContext(context.WithValue(e.ctx, entryKey{}, e))
		done := s.metrics.begin()
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})               // the last request's on this connection
		_ = control.SetReadDeadline(time.Now().Add(s.Patience)) // of a body that nobody wants, too: it is read before an answer is sent
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				s.Logger.Error("a request failed in the server", "panic", p, "stack", string(debug.Stack()))
				if out.status == 0 {
					e.refuse(out, fail(http.StatusInternalServerError, "internal", "the server failed on this request; its log says more"))
				}
			}
			_ = control.SetWriteDeadline(time.Now().Add(2 * s.Patience)) // what is still buffered, after a body that does not come
			if out.status == 0 && e.gone != nil {
				out.status = statusGone
			}
			took := time.Since(began)
			done(route(r), out.status, took, e, began)
			s.tracing.end(e, r, out.status, began)
			s.log(r, e, out, took)
		}()
		next.ServeHTTP(out, r)
	})
}

// route is the pattern that a request met, or "other": one that nobody made up.
func route(r *http.Request) string {
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		return strings.TrimSuffix(path, "{$}")
	}
	return "other"
}

// log writes the line of a request; those of probes and metrics are of interest to few.
func (s *Server) log(r *http.Request, e *entry, out *recorder, took time.Duration) {
	pairs := []any{"method", r.Method, "path", clip(r.URL.Path, 100), "status", out.status, "ms", float64(took.Microseconds()) / 1e3, "bytes", out.bytes}
	if r.RemoteAddr != "" && r.RemoteAddr != "@" {
		pairs = append(pairs, "client", r.RemoteAddr)
	}
	if e.rows > 0 {
		pairs = append(pairs, "model", e.model, "rows", e.rows, "seed", e.seed, "nfe", e.nfe, "tokens", e.tokens, "stream", e.stream, "finish", ends(e.finishes))
	}
	if e.code != "" {
		pairs = append(pairs, "code", e.code)
	}
	if e.gone != nil {
		pairs = append(pairs, "left", e.gone)
	}
	if id := e.span.SpanContext(); id.IsValid() {
		pairs = append(pairs, "trace", id.TraceID())
	}
	if !strings.HasPrefix(r.URL.Path, "/v1/") && out.status < 400 {
		s.Logger.Debug("request", pairs...)
		return
	}
	s.Logger.Info("request", pairs...)
}

// ends counts how rows ended, such as "complete:3 error:1".
func ends(finishes map[sampling.Finish]int) string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(finishes)) {
		out = append(out, fmt.Sprintf("%s:%d", f, finishes[f]))
	}
	return strings.Join(out, " ")
}
