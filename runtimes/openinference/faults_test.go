package openinference

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

var usual = sampling.Head{Needs: everything, Suppress: plain.Suppress}

// ways are both ways to a server.
var ways = map[string]func(*testing.T, *fake) string{
	"grpc": func(t *testing.T, f *fake) string { return "grpc://" + f.serveGRPC(t) },
	"http": func(t *testing.T, f *fake) string { return f.serveHTTP(t) },
}

// TestEndpointDown: a pass goes on where another endpoint is ready; the one that failed gets no more rows until it says that it is ready, and
// some then.
func TestEndpointDown(t *testing.T) {
	for way, serve := range ways {
		t.Run(way, func(t *testing.T) {
			a, b := servedHead(v, plain.Suppress...), servedHead(v, plain.Suppress...)
			d := open(t, plain, Options{Endpoints: []string{serve(t, a), serve(t, b)}, Retries: 3}, usual)
			run := func() {
				t.Helper()
				batchOf(t, d, 8, 5)
				if _, err := d.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			run()
			a.down.Store(true)
			run()
			if n, _ := d.fleet.ready(); n != 1 {
				t.Errorf("%d endpoints are ready, expected 1", n)
			}
			if d.Traffic().Retries == 0 {
				t.Error("no retry, expected one")
			}
			before := a.came.Load()
			run()
			if a.came.Load() != before {
				t.Error("the endpoint that is down was asked")
			}
			_, changed := d.fleet.ready()
			a.down.Store(false)
			<-changed
			run()
			if a.came.Load() == before {
				t.Error("the endpoint that came back was not asked")
			}
		})
	}
}

// TestComesBackSmaller: an endpoint that comes back and takes fewer rows at once is sent no more.
func TestComesBackSmaller(t *testing.T) {
	for way, serve := range ways {
		f := servedHead(v, plain.Suppress...)
		f.extensions = []string{"binary_tensor_data", "model_configuration"}
		f.maxBatch = 8
		d := open(t, plain, Options{Endpoints: []string{serve(t, f)}}, usual)
		batchOf(t, d, 8, 5)
		f.down.Store(true)
		if _, err := d.Run(t.Context()); err == nil {
			t.Fatalf("%s: a pass that nobody answered succeeded", way)
		}
		_, changed := d.fleet.ready()
		f.maxBatch = 3
		f.down.Store(false)
		<-changed
		if _, err := d.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// TestAllDown: the error of a pass that nobody answered says so of every endpoint, after as many tries as were allowed; when a server is back,
// the next pass succeeds.
func TestAllDown(t *testing.T) {
	f, g := servedHead(v, plain.Suppress...), servedHead(v, plain.Suppress...)
	first, second := "grpc://"+f.serveGRPC(t), g.serveHTTP(t)
	d := open(t, plain, Options{Endpoints: []string{first, second}, Retries: 2}, usual)
	batchOf(t, d, 2, 5)
	f.down.Store(true)
	g.down.Store(true)
	_, err := d.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no endpoint answered in 3 tries") || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Errorf("error %v, expected one that names both endpoints and 3 tries", err)
	}
	if got := d.Traffic(); got.Requests != 3 || got.Retries != 2 || got.Passes != 0 {
		t.Errorf("traffic %+v, expected 3 requests, 2 of them again, and no pass", got)
	}
	_, changed := d.fleet.ready()
	g.down.Store(false)
	<-changed
	if _, err := d.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPassingFaults: what may pass is tried again, on the only endpoint, too; what cannot pass is not.
func TestPassingFaults(t *testing.T) {
	for _, c := range []struct {
		code  codes.Code
		tries int64
		want  string
	}{
		{codes.Unavailable, 3, ""}, {codes.ResourceExhausted, 3, ""}, {codes.Aborted, 3, ""}, {codes.DeadlineExceeded, 3, ""},
		{codes.InvalidArgument, 1, "ModelInfer: odd (InvalidArgument)"}, {codes.NotFound, 1, "the server has no model fake"}, {codes.Unauthenticated, 1, "runtime.headers"},
	} {
		t.Run(c.code.String(), func(t *testing.T) {
			f := servedHead(v, plain.Suppress...)
			var calls atomic.Int64
			f.before = func(context.Context) error {
				if calls.Add(1) < 3 {
					return status.Error(c.code, "odd")
				}
				return nil
			}
			address := "grpc://" + f.serveGRPC(t)
			d := open(t, plain, Options{Endpoints: []string{address}, Retries: 3}, usual)
			batchOf(t, d, 2, 5)
			_, err := d.Run(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), address)) {
				t.Errorf("error %v, expected %q", err, c.want)
			}
			if calls.Load() != c.tries {
				t.Errorf("%d tries, expected %d", calls.Load(), c.tries)
			}
		})
	}
}

// TestConnectionLost: a server that cuts connections is tried again over HTTP.
func TestConnectionLost(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	var calls atomic.Int64
	f.before = func(context.Context) error {
		if calls.Add(1) == 1 {
			panic(errCut)
		}
		return nil
	}
	d := open(t, plain, Options{Endpoints: []string{f.serveHTTP(t)}, Retries: 3}, usual)
	batchOf(t, d, 2, 5)
	if _, err := d.Run(t.Context()); err != nil || calls.Load() != 2 {
		t.Errorf("%d tries and error %v, expected 2 and none", calls.Load(), err)
	}
}

// TestSlow: a try ends with its deadline and goes to another endpoint; where there is none, the error names the setting.
func TestSlow(t *testing.T) {
	for way, serve := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			slow, quick := servedHead(v, plain.Suppress...), servedHead(v, plain.Suppress...)
			slow.before = hang
			endpoints := []string{serve(t, slow), serve(t, quick)}
			d := open(t, plain, Options{Endpoints: endpoints, Retries: 4, Timeout: time.Second}, usual)
			batchOf(t, d, 2, 5)
			if _, err := d.Run(t.Context()); err != nil {
				t.Error(err)
			}
			d = open(t, plain, Options{Endpoints: endpoints[:1], Retries: 2, Timeout: 20 * time.Millisecond}, usual)
			batchOf(t, d, 2, 5)
			_, err := d.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), "runtime.timeout") || !strings.Contains(err.Error(), "no endpoint answered in 3 tries") {
				t.Errorf("error %v, expected one with runtime.timeout and 3 tries", err)
			}
		})
	}
}

// hang answers when the client has gone.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCancel: the end of the context, and Close, end a pass whose server never answers, and one that waits between two tries.
func TestCancel(t *testing.T) {
	for way, serve := range ways {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/down=%t", way, down), func(t *testing.T) {
				f := servedHead(v, plain.Suppress...)
				started := make(chan struct{}, 100)
				f.before = func(ctx context.Context) error {
					if started <- struct{}{}; down {
						return status.Error(codes.Unavailable, "down")
					}
					return hang(ctx)
				}
				d := open(t, plain, Options{Endpoints: []string{serve(t, f)}, Retries: 100, Timeout: time.Hour}, usual)
				batchOf(t, d, 2, 5)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-started
					cancel()
				}()
				if _, err := d.Run(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, expected the context's", err)
				}
				if n, _ := d.fleet.ready(); n != 1 && !down {
					t.Errorf("an endpoint is out because its caller left: %s", d.fleet.states())
				}
				go func() {
					<-started
					_ = d.Close()
				}()
				if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it was closed") {
					t.Errorf("error %v, expected that it was closed", err)
				}
			})
		}
	}
}

// TestUse: calls in a wrong order say so.
func TestUse(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	d, err := Open(t.Context(), plain, Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	_, err = d.Batch(1, 1)
	expect(err, "Batch before Configure")
	if err := d.Configure(t.Context(), usual); err != nil {
		t.Fatal(err)
	}
	expect(d.Configure(t.Context(), usual), "Configure was called before")
	_, err = d.Run(t.Context())
	expect(err, "Run before Batch")
	_, err = d.Batch(0, 4)
	expect(err, "give at least 1 of each")
	_ = d.Close()
	_, err = d.Batch(1, 1)
	expect(err, "it was closed")
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
