package openinference

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/runtimes/openinference/inference"
)

// overGRPC is the protocol over gRPC, with numbers as raw bytes.
type overGRPC struct {
	conn           *grpc.ClientConn
	client         inference.GRPCInferenceServiceClient
	model, version string
	headers        metadata.MD
}

func dialGRPC(address string, secured bool, o *Options, way *security, t *traffic) (transport, error) {
	trust := insecure.NewCredentials()
	if secured {
		trust = credentials.NewTLS(way.tls.Clone())
	}
	wait := backoff.DefaultConfig
	wait.BaseDelay, wait.MaxDelay = firstDelay, lastDelay
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(trust), grpc.WithStatsHandler(t), grpc.WithUserAgent("mdmhost"), grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), grpc.WithConnectParams(grpc.ConnectParams{Backoff: wait, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	g := &overGRPC{conn: conn, client: inference.NewGRPCInferenceServiceClient(conn), model: o.Model, version: o.Version, headers: metadata.MD{}}
	for name, values := range way.headers {
		g.headers.Set(name, values...)
	}
	return g, nil
}

func (g *overGRPC) close()       { _ = g.conn.Close() }
func (g *overGRPC) note() string { return "" }

// with adds the headers.
func (g *overGRPC) with(ctx context.Context) context.Context {
	return metadata.NewOutgoingContext(ctx, g.headers)
}

func (g *overGRPC) ready(ctx context.Context) error {
	g.conn.ResetConnectBackoff() // this is asked at intervals of our own
	ctx = g.with(ctx)
	live, err := g.client.ServerLive(ctx, &inference.ServerLiveRequest{})
	if err != nil {
		return g.fault("ServerLive", err)
	}
	server, err := g.client.ServerReady(ctx, &inference.ServerReadyRequest{})
	if err != nil {
		return g.fault("ServerReady", err)
	}
	if !live.GetLive() || !server.GetReady() {
		return again("the server is not ready (live %t, ready %t)", live.GetLive(), server.GetReady())
	}
	model, err := g.client.ModelReady(ctx, &inference.ModelReadyRequest{Name: g.model, Version: g.version})
	if err != nil {
		return g.fault("ModelReady", err)
	}
	if !model.GetReady() {
		return again("%s is not ready there; look at the server's log", g.about())
	}
	return nil
}

func (g *overGRPC) about() string { return about(g.model, g.version) }

func (g *overGRPC) describe(ctx context.Context) (*signature, error) {
	ctx = g.with(ctx)
	server, err := g.client.ServerMetadata(ctx, &inference.ServerMetadataRequest{})
	if err != nil {
		return nil, g.fault("ServerMetadata", err)
	}
	model, err := g.client.ModelMetadata(ctx, &inference.ModelMetadataRequest{Name: g.model, Version: g.version})
	if err != nil {
		return nil, g.fault("ModelMetadata", err)
	}
	s := &signature{inputs: portsOf(model.GetInputs()), outputs: portsOf(model.GetOutputs())}
	if !slices.Contains(server.GetExtensions(), "model_configuration") {
		return s, nil
	}
	config, err := g.client.ModelConfig(ctx, &inference.ModelConfigRequest{Name: g.model, Version: g.version})
	if err != nil {
		return nil, g.fault("ModelConfig", err)
	}
	s.maxBatch = max(0, int(config.GetConfig().GetMaxBatchSize()))
	return s, nil
}

func portsOf(in []*inference.ModelMetadataResponse_TensorMetadata) (out []port) {
	for _, t := range in {
		out = append(out, port{t.GetName(), t.GetDatatype(), t.GetShape()})
	}
	return out
}

func (g *overGRPC) infer(ctx context.Context, r *request) ([]tensor, error) {
	m := &inference.ModelInferRequest{ModelName: g.model, ModelVersion: g.version}
	for i := range r.inputs {
		t := &r.inputs[i]
		m.Inputs = append(m.Inputs, &inference.ModelInferRequest_InferInputTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape})
		m.RawInputContents = append(m.RawInputContents, t.raw)
	}
	for _, name := range r.outputs {
		m.Outputs = append(m.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	// Numbers outside raw_output_contents take up to 10 bytes each.
	answer, err := g.client.ModelInfer(g.with(ctx), m, grpc.MaxCallRecvMsgSize(min(3*r.bytes+1<<20, math.MaxInt32)))
	if err != nil {
		return nil, g.fault("ModelInfer", err)
	}
	return tensorsOf(answer)
}

// fault says what a failed call means.
func (g *overGRPC) fault(call string, err error) error {
	s := status.Convert(err)
	switch s.Code() {
	case codes.DeadlineExceeded:
		return again("%s was not answered in time", call)
	case codes.ResourceExhausted:
		if strings.Contains(s.Message(), "larger than max") {
			return fmt.Errorf("%s: %s; let the server take larger messages, or lower --batch", call, s.Message())
		}
		return again("%s: the server has no room (%s)", call, s.Message())
	case codes.Unavailable:
		if strings.Contains(s.Message(), "tls: ") || strings.Contains(s.Message(), "x509: ") {
			return fmt.Errorf("%s; check runtime.tls_ca, runtime.tls_name and the server's certificate", s.Message())
		}
		dialed := strings.TrimPrefix(s.Message(), "connection error: desc = \"transport: Error while dialing: ")
		return again("%s", strings.TrimSuffix(dialed, "\""))
	case codes.Aborted, codes.Canceled: // where this program cancels, the context tells
		return again("%s: %s (%s)", call, s.Message(), s.Code())
	case codes.NotFound:
		return fmt.Errorf("%s: the server has no %s (%s); set runtime.model to its name there", call, g.about(), s.Message())
	case codes.Unauthenticated, codes.PermissionDenied:
		return fmt.Errorf("%s: the server refuses: %s (%s); give it what it wants with runtime.headers or runtime.tls_cert", call, s.Message(), s.Code())
	}
	return fmt.Errorf("%s: %s (%s); look at the server's log", call, s.Message(), s.Code())
}

// about names the model as servers know it.
func about(model, version string) string {
	if version == "" {
		return "model " + model
	}
	return "model " + model + " version " + version
}
