package openinference

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/openinference/inference"
)

// answered takes an answer as a pass of two rows of three positions would. Whatever it is, there is an error, or every proposal is a token
// that may be written or a fault, and every statistic beside a token is one of a distribution.
func answered(t *testing.T, answer []tensor) {
	t.Helper()
	d := &Denoiser{model: plain, ports: &ports{signature: signature{outputs: servedHead(v).outputs}}, head: &head{spec: usual, served: true, passes: 1, banned: make([]bool, v)}}
	for _, id := range plain.Suppress {
		d.head.banned[id] = true
	}
	d.head.outputs = []string{proposal, logpProposal, p1, p2, entropy, logpCurrent}
	s := d.make(2, 3)
	for i := range s.batch.Active {
		s.batch.Active[i] = 1
	}
	if d.take(s, part{hi: 2, rows: 2, length: 3}, answer) != nil {
		return
	}
	for i, p := range s.stats.Proposal {
		if p < sampling.FaultSuppressed || p >= v || p >= 0 && d.head.banned[p] || p >= 0 && !(s.stats.P1[i] >= 0 && s.stats.P1[i] < 1.01) {
			t.Fatalf("proposal %d with p1 %g was taken", p, s.stats.P1[i])
		}
	}
}

// FuzzMessage: bytes as an answer over gRPC.
func FuzzMessage(f *testing.F) {
	honest := &inference.ModelInferResponse{ModelName: "fake"}
	for _, t := range honestAnswer() {
		honest.Outputs = append(honest.Outputs, &inference.ModelInferResponse_InferOutputTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape})
		honest.RawOutputContents = append(honest.RawOutputContents, t.raw)
	}
	raw, err := proto.Marshal(honest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	honest.RawOutputContents = nil
	honest.Outputs[0].Contents = &inference.InferTensorContents{Int64Contents: []int64{1, 2, 4, 5, 6, 8}}
	if raw, err = proto.Marshal(honest); err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := &inference.ModelInferResponse{}
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		if answer, err := tensorsOf(m); err == nil {
			answered(t, answer)
		}
	})
}

// FuzzBody: bytes as an answer over HTTP.
func FuzzBody(f *testing.F) {
	text, bytes := body(f, honestAnswer(), false)
	f.Add(text, bytes)
	text, bytes = body(f, honestAnswer(), true)
	f.Add(text, bytes)
	f.Add([]byte(`{"outputs":[{"name":"p1","datatype":"FP32","shape":[2,2],"data":[[1,null],[0.5,1e-3]]}]}`), "")
	f.Add([]byte(`{"outputs":[{"name":"p1","datatype":"FP32","shape":[-1],"parameters":{"binary_data_size":1e300}}]}xx`), "88")
	f.Fuzz(func(t *testing.T, raw []byte, length string) {
		if answer, err := decodeBody(raw, length); err == nil {
			answered(t, answer)
		}
	})
}

// honestAnswer is sound.
func honestAnswer() []tensor {
	out := []tensor{{name: proposal, datatype: "INT64", shape: []int64{2, 3}}}
	for i := range 6 {
		out[0].addInteger(int64(i % 3))
	}
	for _, name := range []string{logpProposal, p1, p2, entropy, logpCurrent} {
		t := tensor{name: name, datatype: "FP32", shape: []int64{2, 3}}
		for range 6 {
			t.addFloat(map[bool]float32{true: -1, false: 0.25}[strings.HasPrefix(name, "logp")])
		}
		out = append(out, t)
	}
	return out
}

// body is an answer as a server writes it, with its header.
func body(f testing.TB, answer []tensor, binary bool) ([]byte, string) {
	f.Helper()
	raw, n, err := encodeBody(&request{inputs: answer}, binary)
	if err != nil {
		f.Fatal(err)
	}
	head := strings.Replace(strings.Replace(string(raw[:n]), `"outputs":null`, `"id":""`, 1), `"inputs"`, `"outputs"`, 1)
	if !binary {
		return []byte(head), ""
	}
	return append([]byte(head), raw[n:]...), string(must(f, len(head)))
}

func must(f testing.TB, v any) []byte {
	f.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// TestBodies: numbers that are written come back bit for bit, as text and as bytes.
func TestBodies(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		floats, ints := tensor{name: "a", datatype: "FP32"}, tensor{name: "b", datatype: "INT64"}
		for _, x := range rapid.SliceOf(rapid.Float32()).Draw(r, "floats") {
			if x-x == 0 { // the text of an infinite one is nothing that JSON has
				floats.addFloat(x)
			}
		}
		for _, x := range rapid.SliceOf(rapid.Int64()).Draw(r, "ints") {
			ints.addInteger(x)
		}
		floats.shape, ints.shape = []int64{int64(len(floats.raw) / 4)}, []int64{int64(len(ints.raw) / 8)}
		for _, binary := range []bool{false, true} {
			raw, length := body(t, []tensor{floats, ints}, binary)
			got, err := decodeBody(raw, length)
			if err != nil {
				r.Fatal(err)
			}
			for i, want := range []tensor{floats, ints} {
				if diff := cmp.Diff(string(want.raw), string(got[i].raw)); diff != "" || got[i].name != want.name {
					r.Errorf("binary=%t: %s (-want +got)\n%s", binary, want.name, diff)
				}
			}
		}
	})
}
