package openinference

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/openinference/inference"
)

// fake is a server of a model whose logits are a function of the row's real tokens and the position. It speaks both ways.
type fake struct {
	inference.UnimplementedGRPCInferenceServiceServer
	v          int
	suppress   []int32
	inputs     []port
	outputs    []port
	maxBatch   int
	extensions []string
	typed      bool // answers over gRPC hold numbers in the fields of their types

	lie    func([]tensor) []tensor             // changes answers
	before func(context.Context) error         // is called at every inference; its error is the answer
	header func(get func(string) string) error // sees every request's headers
	down   atomic.Bool                         // says that it is not ready, and answers nothing

	came atomic.Int64 // requests
	mu   sync.Mutex
	rows []int // of the requests that were answered
}

// logitsOf are those of one position [V].
func logitsOf(tokens, attention []int64, position, v int) []float32 {
	row := fnv.New64a()
	for i, t := range tokens {
		if attention[i] != 0 {
			_, _ = row.Write([]byte{byte(t)})
		}
	}
	of := rand.New(rand.NewPCG(row.Sum64(), uint64(position)))
	out := make([]float32, v)
	for k := range out {
		out[k] = float32(of.IntN(8192))/1024 - 4
	}
	return out
}

func allLogits(b *sampling.Batch, tokens []int64, v int) (out []float32) {
	for i := range b.B {
		for l := range b.L {
			out = append(out, logitsOf(tokens[i*b.L:(i+1)*b.L], b.Attention[i*b.L:(i+1)*b.L], l, v)...)
		}
	}
	return out
}

// servedHead is a graph like that of an export with the statistics head.
func servedHead(v int, suppress ...int32) *fake {
	bl := []int64{-1, -1}
	return &fake{v: v, suppress: suppress,
		inputs: []port{{inputIDs, "INT64", bl}, {attentionMask, "INT64", bl}, {temperature, "FP32", bl[:1]}, {uniform, "FP32", bl}},
		outputs: []port{{logits, "FP32", []int64{-1, -1, int64(v)}}, {proposal, "INT64", bl}, {logpProposal, "FP32", bl}, {p1, "FP32", bl}, {p2, "FP32", bl}, {entropy, "FP32", bl},
			{logpCurrent, "FP32", bl}}}
}

// fixed is the same graph for so many rows and positions.
func (f *fake) fixed(rows, length int64) *fake {
	for _, ports := range [][]port{f.inputs, f.outputs} {
		for i, p := range ports {
			p.shape = slices.Clone(p.shape)
			copy(p.shape, []int64{rows, length})
			ports[i].shape = p.shape[:len(p.shape):len(p.shape)]
		}
	}
	return f
}

// infer answers a request.
func (f *fake) infer(ctx context.Context, inputs []tensor, outputs []string) ([]tensor, error) {
	f.came.Add(1)
	if f.down.Load() {
		return nil, status.Error(codes.Unavailable, "down")
	}
	if f.before != nil {
		if err := f.before(ctx); err != nil {
			return nil, err
		}
	}
	in := map[string]*tensor{}
	for i, t := range inputs {
		want := find(f.inputs, t.name)
		if want == nil || want.datatype != t.datatype || len(want.shape) != len(t.shape) {
			return nil, status.Errorf(codes.InvalidArgument, "input %s is %s %v", t.name, t.datatype, t.shape)
		}
		for k, size := range want.shape {
			if size >= 0 && size != t.shape[k] {
				return nil, status.Errorf(codes.InvalidArgument, "input %s has shape %v", t.name, t.shape)
			}
		}
		in[t.name] = &inputs[i]
	}
	if len(in) != len(f.inputs) {
		return nil, status.Errorf(codes.InvalidArgument, "%d inputs, expected %d", len(in), len(f.inputs))
	}
	b := &sampling.Batch{B: int(in[inputIDs].shape[0]), L: int(in[inputIDs].shape[1])}
	f.mu.Lock()
	f.rows = append(f.rows, b.B)
	f.mu.Unlock()
	if f.maxBatch > 0 && b.B > f.maxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "a batch of %d rows", b.B)
	}
	for i := range b.B * b.L {
		b.Tokens = append(b.Tokens, in[inputIDs].integer(i))
		b.Attention = append(b.Attention, in[attentionMask].integer(i))
		b.Active = append(b.Active, 1)
		u := []float32{0.5}
		if in[uniform] != nil {
			in[uniform].floats(i, u)
		}
		b.Uniform = append(b.Uniform, float64(u[0]))
	}
	for i := range b.B {
		t := []float32{0}
		if in[temperature] != nil {
			in[temperature].floats(i, t)
		}
		b.Params = append(b.Params, sampling.Params{Temperature: t[0], TopP: 1})
	}
	var st sampling.Statistics
	raw := allLogits(b, b.Tokens, f.v)
	if err := sampling.Compute(raw, f.v, b, sampling.Head{Needs: everything, Suppress: f.suppress}, &st); err != nil {
		return nil, err
	}
	bl := []int64{int64(b.B), int64(b.L)}
	var out []tensor
	for _, name := range outputs {
		t := tensor{name: name, datatype: "FP32", shape: bl}
		column := map[string][]float32{logits: raw, logpProposal: st.LogpProposal, p1: st.P1, p2: st.P2, entropy: st.Entropy, logpCurrent: st.LogpCurrent}[name]
		switch name {
		case proposal:
			t.datatype = find(f.outputs, proposal).datatype
			for _, p := range st.Proposal {
				t.addInteger(int64(p))
			}
		case logits:
			t.shape = append(slices.Clone(bl), int64(f.v))
		case insertionRate:
			t.shape = []int64{bl[0], bl[1] + 1}
			for i := range b.B {
				for l := range b.L + 1 {
					column = append(column, float32(b.Tokens[i*b.L])+float32(l)/100)
				}
			}
		}
		for _, x := range column {
			t.addFloat(x)
		}
		out = append(out, t)
	}
	if f.lie != nil {
		out = f.lie(out)
	}
	return out, nil
}

// errCut is a panic that ends the connection of a request.
var errCut = http.ErrAbortHandler

// everything is what the served head gives.
var everything = sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true}

// serveGRPC starts the server on loopback.
func (f *fake) serveGRPC(t *testing.T, options ...grpc.ServerOption) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(1<<28), grpc.MaxSendMsgSize(1<<28))...)
	inference.RegisterGRPCInferenceServiceServer(s, f)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func (f *fake) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func (f *fake) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: !f.down.Load()}, nil
}

func (f *fake) ModelReady(_ context.Context, r *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	if r.GetName() != "fake" {
		return nil, status.Errorf(codes.NotFound, "model %s not found", r.GetName())
	}
	return &inference.ModelReadyResponse{Ready: true}, nil
}

func (f *fake) ServerMetadata(context.Context, *inference.ServerMetadataRequest) (*inference.ServerMetadataResponse, error) {
	return &inference.ServerMetadataResponse{Name: "fake", Extensions: f.extensions}, nil
}

func (f *fake) ModelMetadata(context.Context, *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	describe := func(in []port) (out []*inference.ModelMetadataResponse_TensorMetadata) {
		for _, p := range in {
			out = append(out, &inference.ModelMetadataResponse_TensorMetadata{Name: p.name, Datatype: p.datatype, Shape: p.shape})
		}
		return out
	}
	return &inference.ModelMetadataResponse{Name: "fake", Inputs: describe(f.inputs), Outputs: describe(f.outputs)}, nil
}

func (f *fake) ModelConfig(context.Context, *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	return &inference.ModelConfigResponse{Config: &inference.ModelConfig{Name: "fake", MaxBatchSize: int32(f.maxBatch)}}, nil
}

func (f *fake) ModelInfer(ctx context.Context, r *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	var inputs []tensor
	for i, in := range r.GetInputs() {
		inputs = append(inputs, tensor{in.GetName(), in.GetDatatype(), in.GetShape(), r.GetRawInputContents()[i]})
	}
	var names []string
	for _, o := range r.GetOutputs() {
		names = append(names, o.GetName())
	}
	out, err := f.infer(ctx, inputs, names)
	if err != nil {
		return nil, err
	}
	answer := &inference.ModelInferResponse{ModelName: r.GetModelName()}
	for _, t := range out {
		o := &inference.ModelInferResponse_InferOutputTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape}
		if !f.typed {
			answer.RawOutputContents = append(answer.RawOutputContents, t.raw)
		} else {
			o.Contents = &inference.InferTensorContents{}
			for i := range len(t.raw) / widths[t.datatype] {
				v := []float32{0}
				switch t.datatype {
				case "FP32":
					t.floats(i, v)
					o.Contents.Fp32Contents = append(o.Contents.Fp32Contents, v[0])
				case "INT32":
					o.Contents.IntContents = append(o.Contents.IntContents, int32(t.integer(i)))
				case "INT64":
					o.Contents.Int64Contents = append(o.Contents.Int64Contents, t.integer(i))
				}
			}
		}
		answer.Outputs = append(answer.Outputs, o)
	}
	return answer, nil
}

// serveHTTP starts the server on loopback. Its paths may begin with /gate.
func (f *fake) serveHTTP(t *testing.T) (address string) {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	say := func(code int, v any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	if f.header != nil {
		if err := f.header(r.Header.Get); err != nil {
			say(http.StatusUnauthorized, map[string]string{"error": err.Error()})
			return
		}
	}
	describe := func(in []port) (out []jsonTensor) {
		for _, p := range in {
			out = append(out, jsonTensor{Name: p.name, Datatype: p.datatype, Shape: p.shape})
		}
		return out
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/gate"); path {
	case "/v2/health/live":
	case "/v2/health/ready", "/v2/models/fake/ready":
		if f.down.Load() {
			say(http.StatusServiceUnavailable, map[string]string{"error": "starting"})
		}
	case "/v2":
		say(200, map[string]any{"name": "fake", "extensions": f.extensions})
	case "/v2/models/fake":
		say(200, map[string]any{"name": "fake", "inputs": describe(f.inputs), "outputs": describe(f.outputs)})
	case "/v2/models/fake/config":
		say(200, map[string]any{"max_batch_size": f.maxBatch})
	case "/v2/models/fake/infer":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		length, rest := r.Header.Get(lengthHeader), []byte(nil)
		if length != "" {
			n, _ := strconv.Atoi(length)
			body, rest = body[:n], body[n:]
		}
		var asked, answer struct {
			Inputs  []jsonTensor `json:"inputs,omitempty"`
			Outputs []jsonTensor `json:"outputs"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			say(http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		var inputs []tensor
		for _, j := range asked.Inputs {
			t := tensor{name: j.Name, datatype: j.Datatype, shape: j.Shape}
			if n, is := j.Parameters[binarySize].(float64); is {
				t.raw, rest = rest[:int(n)], rest[int(n):]
			} else if err := t.parse(j.Data); err != nil {
				say(http.StatusBadRequest, map[string]string{"error": err.Error()})
				return
			}
			inputs = append(inputs, t)
		}
		var names []string
		for _, o := range asked.Outputs {
			names = append(names, o.Name)
		}
		out, err := f.infer(r.Context(), inputs, names)
		if err != nil {
			code := map[codes.Code]int{codes.Unavailable: 503, codes.InvalidArgument: 400}[status.Code(err)]
			say(cmp.Or(code, 500), map[string]string{"error": err.Error()})
			return
		}
		var behind []byte
		for i := range out {
			j := jsonTensor{Name: out[i].name, Datatype: out[i].datatype, Shape: out[i].shape}
			if length != "" {
				j.Parameters, behind = map[string]any{binarySize: len(out[i].raw)}, append(behind, out[i].raw...)
			} else {
				j.Data = out[i].text()
			}
			answer.Outputs = append(answer.Outputs, j)
		}
		said, err := json.Marshal(answer)
		if err != nil {
			say(500, map[string]string{"error": err.Error()})
			return
		}
		if length != "" {
			w.Header().Set(lengthHeader, strconv.Itoa(len(said)))
		}
		_, _ = w.Write(append(said, behind...))
	default:
		say(http.StatusNotFound, map[string]string{"error": "no " + path})
	}
}
