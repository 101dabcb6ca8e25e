package openinference

import (
	"context"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/openinference/inference"
)

// canned answers every inference with what it was asked for, at once: what is left of a pass is the way.
type canned struct {
	*fake
	answer *inference.ModelInferResponse
}

func (c *canned) ModelInfer(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return c.answer, nil
}

// BenchmarkWay is what a pass costs beside the model's own time, over loopback: planner confidence reads p1, p2 also logp_proposal and logp_current.
func BenchmarkWay(b *testing.B) {
	for _, needs := range []sampling.Needs{{Proposal: true, P1: true}, {Proposal: true, LogpProposal: sampling.OnModel, LogpCurrent: true}} {
		for _, rows := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/B=%d,L=64", needs, rows), func(b *testing.B) {
				f := servedHead(v, plain.Suppress...)
				s := &canned{fake: f}
				address := s.start(b)
				d, err := Open(b.Context(), plain, Options{Endpoints: []string{"grpc://" + address}})
				if err != nil {
					b.Fatal(err)
				}
				defer d.Close() //nolint:errcheck // nothing is written
				if err := d.Configure(b.Context(), sampling.Head{Needs: needs, Suppress: plain.Suppress}); err != nil {
					b.Fatal(err)
				}
				batch, err := d.Batch(rows, 64)
				if err != nil {
					b.Fatal(err)
				}
				for i := range batch.Tokens {
					batch.Tokens[i], batch.Attention[i], batch.Active[i], batch.Uniform[i] = mask, 1, 1, 0.5
				}
				for i := range batch.Params {
					batch.Params[i] = sampling.Params{Temperature: 1, TopP: 1}
				}
				s.answer = s.once(b, d)
				before := d.Traffic()
				for b.Loop() {
					if _, err := d.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				after := d.Traffic()
				passes := float64(after.Passes - before.Passes)
				b.ReportMetric(float64(after.Sent-before.Sent)/passes, "up-B/op")
				b.ReportMetric(float64(after.Received-before.Received)/passes, "down-B/op")
			})
		}
	}
}

// once is the honest answer to the batch that d holds.
func (c *canned) once(b *testing.B, d *Denoiser) *inference.ModelInferResponse {
	b.Helper()
	r := d.request(d.current, part{hi: d.current.batch.B, rows: d.current.batch.B, length: d.current.batch.L})
	out, err := c.infer(b.Context(), r.inputs, r.outputs)
	if err != nil {
		b.Fatal(err)
	}
	m := &inference.ModelInferResponse{ModelName: "fake"}
	for _, t := range out {
		m.Outputs = append(m.Outputs, &inference.ModelInferResponse_InferOutputTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape})
		m.RawOutputContents = append(m.RawOutputContents, t.raw)
	}
	return m
}

// start serves on loopback.
func (c *canned) start(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(s, c)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	b.Cleanup(func() {
		s.Stop()
		<-done
	})
	return l.Addr().String()
}
