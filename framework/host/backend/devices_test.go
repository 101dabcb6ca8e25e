package backend_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/spread"
)

// Several devices that cannot be had are refused by name, and auto runs once on the CPU, as it says.
func TestSeveralDevices(t *testing.T) {
	m, err := model.Open("stars")
	if err != nil {
		t.Fatal(err)
	}
	r := config.Runtime{Kind: config.KindONNX, Provider: "cpu", Device: []int{0, 1}, Head: "auto", Optimize: "all", Arena: true, Precision: "model"}
	if _, err := backend.Open(t.Context(), r, m, backend.Options{}); err == nil || !strings.Contains(err.Error(), "names 2 devices, and the provider is cpu") {
		t.Errorf("cpu: %v", err)
	}
	if os.Getenv("MDMHOST_GPU") != "" {
		t.Log("MDMHOST_GPU is set: what follows is about machines without a GPU, and left out")
		return
	}
	r.Provider = "cuda"
	if _, err := backend.Open(t.Context(), r, m, backend.Options{}); err == nil || !strings.Contains(err.Error(), "device 0: ") {
		t.Errorf("cuda: %v", err)
	}
	r.Provider = "auto"
	d, err := backend.Open(t.Context(), r, m, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing ran
	notes := strings.Join(d.Notes(), "\n")
	if d.Capabilities().Provider != "cpu" || !strings.Contains(notes, "runs on the CPU") || strings.Contains(notes, "spread") {
		t.Errorf("auto runs on %s: %s", d.Capabilities().Provider, notes)
	}
}

// Streams on the CPU share the rows of a batch, whose statistics are those of one pass. They are there for small models with several threads.
func TestStreams(t *testing.T) {
	m, err := model.Open("stars")
	if err != nil {
		t.Fatal(err)
	}
	const rows, length = 4, 7
	open := func(wanted string, threads, most int) backend.Denoiser {
		r := config.Runtime{Kind: config.KindONNX, Provider: "cpu", Device: []int{0}, Streams: wanted, Threads: threads, Head: "auto", Optimize: "all", Arena: true, Precision: "model"}
		d, err := backend.Open(t.Context(), r, m, backend.Options{Rows: most})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	statistics := func(wanted string, threads int) *sampling.Statistics {
		d := open(wanted, threads, rows)
		if err := d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}}); err != nil {
			t.Fatal(err)
		}
		var b *sampling.Batch
		for range 40 { // streams wait for some batches
			var err error
			if b, err = d.Batch(rows, length); err != nil {
				t.Fatal(err)
			}
		}
		for i := range b.Tokens {
			b.Tokens[i], b.Attention[i], b.Active[i] = int64(i%m.V), 1, 1
		}
		for i := range rows {
			b.Slots[i], b.Params[i].TopP = int32(i), 1
		}
		s, err := d.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := statistics("off", 2)
	if len(want.P1) != rows*length || len(want.Proposal) != rows*length {
		t.Fatalf("%d and %d statistics", len(want.P1), len(want.Proposal))
	}
	for _, threads := range []int{2, 3, 4, 8} { // rows / threads: several, unevenly, one, none
		if diff := cmp.Diff(want, statistics("on", threads), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("%d threads: %s", threads, diff)
		}
	}
	for _, c := range []struct {
		wanted        string
		threads, most int
		streams       bool
	}{{"auto", 2, 8, true}, {"on", 2, 2, true}, {"off", 2, 8, false}, {"auto", 1, 8, false}, {"on", 1, 8, false}, {"auto", 9, 8, false}, {"auto", 2, 1, false}, {"auto", 2, 0, false}} {
		if _, is := open(c.wanted, c.threads, c.most).(*spread.Streams); is != c.streams {
			t.Errorf("%s, %d threads, %d rows: streams %v", c.wanted, c.threads, c.most, is)
		}
	}
}
