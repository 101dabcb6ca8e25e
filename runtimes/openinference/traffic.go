package openinference

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// Traffic counts what went over the wire. Bytes are those of messages (gRPC) or bodies (HTTP), health checks included.
type Traffic struct {
	Passes   int64 // forward passes
	Requests int64 // requests of them: more than passes where batches were split or tried again
	Retries  int64 // requests that came again
	Sent     int64 // bytes up
	Received int64 // bytes down
}

// traffic is a Traffic that grows. It is gRPC's stats handler, too.
type traffic struct{ passes, requests, retries, sent, received atomic.Int64 }

func (t *traffic) sum() Traffic {
	return Traffic{t.passes.Load(), t.requests.Load(), t.retries.Load(), t.sent.Load(), t.received.Load()}
}

func (t *traffic) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (t *traffic) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (t *traffic) HandleConn(context.Context, stats.ConnStats)                       {}

func (t *traffic) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.OutPayload:
		t.sent.Add(int64(s.WireLength))
	case *stats.InPayload:
		t.received.Add(int64(s.WireLength))
	}
}
