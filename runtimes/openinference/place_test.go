package openinference

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// graphs that servers may have, by what they lack of an export with the statistics head.
var graphs = map[string]func(*fake){
	"all":       func(*fake) {},
	"no head":   func(f *fake) { f.inputs, f.outputs = f.inputs[:2], f.outputs[:1] },
	"no logits": func(f *fake) { f.outputs = f.outputs[1:] },
}

// TestPlace: without a choice, a run takes the served head where that has everything, and else logits where there are any, with a note that
// says why and what they weigh. Statistics are those of sampling.Compute in both places.
func TestPlace(t *testing.T) {
	const lacks = "the served statistics head has no "
	for _, c := range []struct {
		name   string
		change func(*sampling.Head)
		graph  string
		why    string // that logits are taken, or "" where the served head is
		refuse []string
	}{
		{name: "everything", graph: "all"},
		{name: "everything", graph: "no logits"},
		{name: "everything", graph: "no head", why: "the servers have no statistics head (inputs temperature and uniform, output proposal)"},
		{name: "top-p", change: func(h *sampling.Head) { h.Filter = true }, graph: "all", why: lacks + "top-k, top-p or min-p"},
		{name: "top-p", change: func(h *sampling.Head) { h.Filter = true }, graph: "no head", why: "the servers have no statistics head"},
		{name: "top-p", change: func(h *sampling.Head) { h.Filter = true }, graph: "no logits", refuse: []string{lacks + "top-k, top-p or min-p", "the servers give no logits (output logits)"}},
		{name: "guidance", change: func(h *sampling.Head) { h.Guidance = 1 }, graph: "all", why: lacks + "guidance"},
		{name: "edits", change: func(h *sampling.Head) { h.Edits.Left = 1 }, graph: "all", why: lacks + "edits of logits"},
		{name: "gumbel", change: func(h *sampling.Head) { h.Draw = sampling.DrawGumbel }, graph: "all", why: lacks + "draw with Gumbel noise"},
		{name: "suppressed", change: func(h *sampling.Head) { h.Suppress = []int32{mask} }, graph: "all", why: "the settings want 1"},
		{name: "kl", change: func(h *sampling.Head) { h.Needs.KLPrev = true }, graph: "all", why: lacks + "kl_prev"},
		{name: "kl", change: func(h *sampling.Head) { h.Needs.KLPrev = true }, graph: "no logits", refuse: []string{lacks + "kl_prev", "the servers give no logits"}},
		{name: "topk", change: func(h *sampling.Head) { h.Needs.TopK = 2 }, graph: "all", why: lacks + "topk(2)"},
		{name: "dots", change: func(h *sampling.Head) { h.Needs.VocabDot = [][]float32{make([]float32, v)} }, graph: "all", why: lacks + "vocab_dot(1)"},
		{name: "logits", change: func(h *sampling.Head) { h.Needs.Logits = true }, graph: "all", why: lacks + "logits"},
		{name: "at temperatures 0 and 1", change: func(h *sampling.Head) { h.Needs.Entropy = sampling.OnSampling }, graph: "all"},
		{name: "tempered, of the model", change: func(h *sampling.Head) { h.Tempered = true }, graph: "all"},
		{name: "tempered", change: func(h *sampling.Head) { h.Tempered, h.Needs.PeaksOn = true, sampling.OnTempered }, graph: "all", why: "the served statistics head has p2(on=tempered) at temperatures 0 and 1 alone, and rows may have others"},
		{name: "tempered", change: func(h *sampling.Head) { h.Tempered, h.Needs.PeaksOn = true, sampling.OnTempered }, graph: "no logits", refuse: []string{"p2(on=tempered) at temperatures 0 and 1 alone", "the servers give no logits"}},
		{name: "neither", change: func(h *sampling.Head) { h.Needs.LogpLeaveOneOut = true }, graph: "all", refuse: []string{lacks + "logp_leave_one_out", "logp_leave_one_out cannot be computed from what the servers give"}},
	} {
		t.Run(c.name+"/"+c.graph, func(t *testing.T) {
			f := servedHead(v, plain.Suppress...)
			graphs[c.graph](f)
			m, h := plain, sampling.Head{Needs: everything, Suppress: plain.Suppress}
			m.Length = 20
			if c.change != nil {
				c.change(&h)
			}
			o := Options{Endpoints: []string{"grpc://" + f.serveGRPC(t)}}
			if c.refuse != nil {
				d, err := Open(t.Context(), m, o)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close() //nolint:errcheck // nothing is written
				err = d.Configure(t.Context(), h)
				for _, want := range append(c.refuse, "model fake: runtime.head=auto: ", "choose other settings") {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, expected it to have %q", err, want)
					}
				}
				return
			}
			d := open(t, m, o, h)
			if caps := d.Capabilities(); caps.State != (c.graph != "no logits") || len(caps.Missing(h.Needs)) > 0 {
				t.Errorf("capabilities %+v", caps)
			}
			notes, bytes := strings.Join(d.Notes(), "\n"), "52 bytes a position, up to 1040 a row and step"
			if h.Guidance != 0 {
				bytes = "104 bytes a position, up to 2080 a row and step"
			}
			if c.why == "" && notes != "" || !strings.Contains(notes, c.why) || c.why != "" && !strings.Contains(notes, bytes) {
				t.Errorf("notes %q, expected %q and %q", notes, c.why, bytes)
			}
			batch := batchOf(t, d, 3, 8)
			if h.Tempered && c.why != "" {
				batch.Params[1].Temperature = 0.7
			}
			copy(batch.Unconditional, batch.Tokens)
			for i := range batch.Gumbel {
				batch.Gumbel[i] = float64(i%7) / 7
			}
			got, err := d.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if crossed := slices.Contains(d.head.outputs, logits); crossed != (c.why != "") || crossed == slices.Contains(d.head.outputs, proposal) {
				t.Errorf("requests ask for %v", d.head.outputs)
			}
			var want sampling.Statistics
			if err := sampling.Compute(allLogits(batch, batch.Tokens, v), v, batch, h, &want); err != nil {
				t.Fatal(err)
			}
			for _, st := range []*sampling.Statistics{got, &want} {
				blank(st, batch)
			}
			if diff := cmp.Diff(&want, got, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(sampling.Statistics{}, "VocabDot")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
