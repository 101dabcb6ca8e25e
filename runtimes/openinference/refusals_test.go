package openinference

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// TestOtherModel: a server whose model is not the one here is refused when it is opened, over both ways, with what differs.
func TestOtherModel(t *testing.T) {
	any2 := []int64{-1, -1}
	for _, c := range []struct {
		name   string
		change func(*fake, *Model, *Options)
		want   string
	}{
		{"vocabulary", func(f *fake, m *Model, _ *Options) { m.V = 14 }, "its logits are 13 wide and the model's 14"},
		{"no head", func(f *fake, _ *Model, o *Options) {
			f.inputs, f.outputs, o.Head = f.inputs[:2], f.outputs[:1], HeadServed
		}, "no statistics head (inputs temperature and uniform, output proposal), found input_ids, attention_mask giving logits; serve `mdmhost export --to onnx --head statistics`, or set runtime.head=go"},
		{"neither", func(f *fake, _ *Model, o *Options) { f.outputs, o.Head = f.outputs[3:], HeadAuto }, "no statistics head (inputs temperature and uniform, output proposal) and no output logits to compute statistics from, found input_ids,"},
		{"no logits", func(f *fake, _ *Model, o *Options) { f.outputs, o.Head = f.outputs[1:], HeadGo }, "lacks the output logits"},
		{"input type", func(f *fake, _ *Model, _ *Options) { f.inputs[0].datatype = "FP32" }, "its input input_ids is FP32 [-1 -1], expected INT64 [B, L]"},
		{"input rank", func(f *fake, _ *Model, _ *Options) { f.inputs[2].shape = any2 }, "its input temperature is FP32 [-1 -1], expected FP32 [B]"},
		{"output type", func(f *fake, _ *Model, _ *Options) { f.outputs[3].datatype = "FP16" }, "its output p1 is FP16 [-1 -1], expected FP32 [B, L]"},
		{"odd input", func(f *fake, _ *Model, _ *Options) { f.inputs = append(f.inputs, port{"pixels", "FP32", any2}) }, "an input pixels (FP32 [-1 -1]) that the runtime cannot fill"},
		{"no ids", func(f *fake, _ *Model, _ *Options) { f.inputs = f.inputs[1:] }, "lacks the input input_ids"},
		{"no inputs", func(f *fake, _ *Model, _ *Options) { f.inputs = nil }, "its metadata names no inputs"},
		{"no outputs", func(f *fake, _ *Model, _ *Options) { f.outputs = nil }, "its metadata names no outputs"},
		{"times", func(_ *fake, m *Model, _ *Options) { m.Timesteps = true }, "it lacks the input timesteps, which this model takes"},
		{"no times", func(f *fake, _ *Model, _ *Options) { f.inputs = append(f.inputs, port{timesteps, "FP32", any2[:1]}) }, "it takes the input timesteps, which this model lacks"},
		{"no mask", func(_ *fake, m *Model, _ *Options) { m.AttentionMask = false }, "it takes the input attention_mask, which this model lacks"},
		{"rates", func(_ *fake, m *Model, _ *Options) { m.InsertionRate = true }, "it lacks rates (insertion_rate, unmask_rate)"},
		{"longer rows", func(f *fake, m *Model, _ *Options) { f.fixed(-1, 20); m.Length = 16 }, "it takes rows of 20 positions and this model at most 16"},
		{"sizes that do not fit", func(f *fake, _ *Model, _ *Options) {
			f.inputs[0].shape, f.inputs[1].shape = []int64{-1, 8}, []int64{-1, 9}
		}, "its input attention_mask is INT64 [-1 9], which does not fit the others"},
		{"name", func(_ *fake, _ *Model, o *Options) { o.Model = "other" }, "runtime.model"},
		{"head", func(_ *fake, _ *Model, o *Options) { o.Head = "fused" }, `head "fused" is unknown; use "auto", "served" or "go"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for way, serve := range ways {
				f, m, o := servedHead(v, plain.Suppress...), plain, Options{}
				c.change(f, &m, &o)
				o.Endpoints = []string{serve(t, f)}
				if _, err := Open(t.Context(), m, o); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: error %v, expected %q", way, err, c.want)
				}
			}
		})
	}
}

// TestSentElsewhere: a redirect is not followed, since requests carry credentials, and says where it leads.
func TestSentElsewhere(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("https://other:1/base", http.StatusFound))
	defer server.Close()
	_, err := Open(t.Context(), plain, Options{Endpoints: []string{server.URL}})
	if want := `status 302 (Found) to "https://other:1/base"; name that server in runtime.endpoints`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, expected %s", err, want)
	}
}

// TestNotReady: with one endpoint of two, a run begins and a note names the other; with none, the error names both and what to do. Endpoints
// that serve different graphs are refused.
func TestNotReady(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	up := "grpc://" + f.serveGRPC(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	starting := servedHead(v, plain.Suppress...)
	starting.down.Store(true)
	downs := []string{"grpc://" + nobody, "http://" + nobody, starting.serveHTTP(t), "grpc://" + starting.serveGRPC(t)}
	d := open(t, plain, Options{Endpoints: append([]string{up}, downs...)}, usual)
	if notes := strings.Join(d.Notes(), "\n"); strings.Count(notes, "is not ready and asked again until it is") != len(downs) {
		t.Errorf("notes %q, expected one an endpoint that is down", notes)
	}
	if _, err = d.Batch(3, 3); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), plain, Options{Endpoints: downs})
	for _, want := range append(downs, "connection refused", "not ready", "start the server, or correct runtime.endpoints") {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected it to have %q", err, want)
		}
	}
	other := servedHead(v, plain.Suppress...)
	other.outputs = other.outputs[:4]
	if _, err = Open(t.Context(), plain, Options{Endpoints: []string{up, other.serveHTTP(t)}}); err == nil || !strings.Contains(err.Error(), "its graph is not that of the endpoints before it") {
		t.Errorf("error %v, expected that the graphs differ", err)
	}
}

// TestUnserved: what the served head cannot compute is refused with the way to have it; with logits here it is served.
func TestUnserved(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	o := Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}, Head: HeadServed}
	for _, c := range []struct {
		name   string
		change func(*sampling.Head)
		want   string
	}{
		{"top-p", func(h *sampling.Head) { h.Filter = true }, "no top-k, top-p or min-p"},
		{"guidance", func(h *sampling.Head) { h.Guidance = 1 }, "no guidance"},
		{"edits", func(h *sampling.Head) { h.Edits.Left = 1 }, "no edits of logits"},
		{"gumbel", func(h *sampling.Head) { h.Draw = sampling.DrawGumbel }, "no draw with Gumbel noise"},
		{"suppressed", func(h *sampling.Head) { h.Suppress = []int32{mask} }, "no tokens never written but the 2 that an export of this model has (sampling.suppress_tokens): the settings want 1"},
		{"kl", func(h *sampling.Head) { h.Needs.KLPrev = true }, "no kl_prev"},
		{"topk", func(h *sampling.Head) { h.Needs.TopK = 2 }, "no topk(2)"},
		{"dots", func(h *sampling.Head) { h.Needs.VocabDot = [][]float32{make([]float32, v)} }, "no vocab_dot(1)"},
		{"logits", func(h *sampling.Head) { h.Needs.Logits = true }, "no logits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := sampling.Head{Needs: everything, Suppress: plain.Suppress}
			c.change(&h)
			d, err := Open(t.Context(), plain, o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close() //nolint:errcheck // nothing is written
			if err := d.Configure(t.Context(), h); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "runtime.head=go") {
				t.Errorf("error %v, expected %q and runtime.head=go", err, c.want)
			}
			o := o
			o.Head = HeadGo
			served := open(t, plain, o, h)
			batch := batchOf(t, served, 2, 4)
			copy(batch.Unconditional, batch.Tokens)
			if _, err := served.Run(t.Context()); err != nil {
				t.Errorf("with logits: %v", err)
			}
		})
	}
}

// TestTempered: statistics of the distribution that tokens are drawn from are the model's at temperatures 0 and 1, and refused at others.
func TestTempered(t *testing.T) {
	f := servedHead(v, plain.Suppress...)
	h := usual
	h.Needs.LogpProposal = sampling.OnTempered
	d := open(t, plain, Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}}, h)
	batch := batchOf(t, d, 2, 4)
	if _, err := d.Run(t.Context()); err != nil {
		t.Error(err)
	}
	batch.Params[1].Temperature = 0.7
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "logp_proposal(on=tempered) at temperatures 0 and 1 alone, and the row has 0.7") {
		t.Errorf("error %v, expected one that names temperature 0.7", err)
	}
}
