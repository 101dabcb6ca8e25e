package serve_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// A collector is told of the request, of its time in the queue and of each row, below the client's own span.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	spans := map[string][]*tracepb.Span{}
	var path string
	took := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		text, _ := io.ReadAll(body)
		var in collector.ExportTraceServiceRequest
		mu.Lock()
		defer mu.Unlock()
		if path = r.URL.Path; proto.Unmarshal(text, &in) != nil {
			path = "no protobuf"
		}
		for _, resource := range in.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					spans[span.Name] = append(spans[span.Name], span)
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer took.Close()
	f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
		return errors.Join(a.send(ctx, row(0, sampling.FinishComplete, "6678")), a.send(ctx, row(1, sampling.FinishError, "")))
	})
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.otlp", took.URL)})
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	s.ask(t, "/v1/completions", `{"n": 2}`, "Traceparent", "00-"+trace+"-"+parent+"-01")
	s.ask(t, "/healthz", "")
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	request, queue, rows := spans["POST /v1/completions"], spans["queue"], spans["row"]
	if path != "/v1/traces" || len(spans) != 3 || len(request) != 1 || len(queue) != 1 || len(rows) != 2 {
		t.Fatalf("path %s, spans %v", path, spans)
	}
	if hexOf(request[0].TraceId) != trace || hexOf(request[0].ParentSpanId) != parent || request[0].Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("the request: %v", request[0])
	}
	for _, span := range append(queue, rows...) {
		if hexOf(span.TraceId) != trace || hexOf(span.ParentSpanId) != hexOf(request[0].SpanId) || span.StartTimeUnixNano > span.EndTimeUnixNano || span.StartTimeUnixNano+1e6 < request[0].StartTimeUnixNano {
			t.Errorf("not within the request: %v", span)
		}
	}
	for span, want := range map[*tracepb.Span]string{request[0]: "http.request.method=POST http.response.status_code=200 http.route=/v1/completions mdmhost.lane=sudoku/eb/masked mdmhost.model=sudoku mdmhost.nfe=4 mdmhost.planner=eb mdmhost.rows=2 mdmhost.stream=false mdmhost.tokens=2",
		rows[0]: "mdmhost.finish=complete mdmhost.lane=sudoku/eb/masked mdmhost.nfe=2 mdmhost.planner=eb mdmhost.row=0 mdmhost.steps=2 mdmhost.tokens=2"} {
		if got := attributes(span); got != want {
			t.Errorf("%s: expected %s, found %s", span.Name, want, got)
		}
	}
	if rows[1].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || !strings.Contains(rows[1].Status.GetMessage(), "not numbers") {
		t.Errorf("a row that failed: %v", rows[1])
	}
	if !strings.Contains(s.log.String(), "trace="+trace) {
		t.Errorf("log: %s", s.log)
	}
}
func hexOf(b []byte) string { return hex.EncodeToString(b) }

// attributes are those of a span, as name=value, by name.
func attributes(span *tracepb.Span) string {
	var out []string
	for _, a := range span.Attributes {
		v := strings.TrimSpace(fmt.Sprint(a.Value))
		_, v, _ = strings.Cut(v, ":")
		out = append(out, a.Key+"="+strings.Trim(v, `"`))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
