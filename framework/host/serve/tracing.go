package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// tracing tells an OpenTelemetry collector of requests: a span for the request, below it one for the time in the queue and one for
// each row. A client's own trace (W3C Trace Context) is gone on with. nil tells nobody and costs nothing.
type tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// newTracing is what serve.otlp asks for.
func newTracing(cfg *config.Config, log hclog.Logger) (*tracing, error) {
	if cfg.Serve.OTLP == "" {
		return nil, nil
	}
	u, err := url.Parse(cfg.Serve.OTLP)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, config.Problems{{Origin: cfg.Origin("serve.otlp"), Key: "serve.otlp", Text: fmt.Sprintf("expected an address such as http://localhost:4318, found %q", config.HideAddress(cfg.Serve.OTLP))}}
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces" // the protocol's own
	}
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("serve.otlp: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces could not be sent", "error", err) }))
	about := resource.NewSchemaless(attribute.String("service.name", "mdmhost"))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &tracing{provider: provider, tracer: provider.Tracer("github.com/mdmhost/mdmhost/framework/host/serve")}, nil
}

// begin starts the span of a request to the API; other requests have none.
func (t *tracing) begin(r *http.Request) (context.Context, trace.Span) {
	ctx := r.Context()
	if t == nil || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	return t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
}

// row tells of a row that ended, running from begun to now.
func (t *tracing) row(e *entry, row *results.Row, made int, begun, now time.Time) {
	if t == nil || !e.span.IsRecording() {
		return
	}
	_, span := t.tracer.Start(e.ctx, "row", trace.WithTimestamp(begun), trace.WithAttributes(
		attribute.Int64("mdmhost.row", row.Index), attribute.Int("mdmhost.nfe", row.NFE), attribute.Int("mdmhost.steps", row.Steps),
		attribute.Int("mdmhost.tokens", made), attribute.String("mdmhost.finish", string(row.Finish)),
		attribute.String("mdmhost.planner", e.planner), attribute.String("mdmhost.lane", e.lane())))
	if row.Finish == sampling.FinishError {
		span.SetStatus(codes.Error, row.Error)
	}
	span.End(trace.WithTimestamp(now))
}

// end tells of a request that ended, and of the time in which its first row waited.
func (t *tracing) end(e *entry, r *http.Request, status int, began time.Time) {
	if t == nil || !e.span.IsRecording() {
		return
	}
	if !e.begun.IsZero() {
		_, queue := t.tracer.Start(e.ctx, "queue", trace.WithTimestamp(began))
		queue.End(trace.WithTimestamp(e.begun))
	}
	e.span.SetName(r.Method + " " + route(r))
	e.span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route(r)), attribute.Int("http.response.status_code", status))
	if e.rows > 0 {
		e.span.SetAttributes(attribute.String("mdmhost.model", e.model), attribute.String("mdmhost.planner", e.planner), attribute.String("mdmhost.lane", e.lane()), attribute.Int("mdmhost.rows", e.rows),
			attribute.Int("mdmhost.nfe", e.nfe), attribute.Int("mdmhost.tokens", e.tokens), attribute.Bool("mdmhost.stream", e.stream))
	}
	switch {
	case e.gone != nil:
		e.span.SetStatus(codes.Error, e.gone.Error())
	case status >= 500:
		e.span.SetStatus(codes.Error, e.code)
	}
	e.span.End()
}

// close sends off what is left.
func (t *tracing) close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("serve.otlp: the last traces could not be sent: %w", err)
	}
	return nil
}
