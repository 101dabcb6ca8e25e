package backend_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
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

// Sessions on the CPU share the rows of a batch; a row's logits are those of one session.
func TestSessions(t *testing.T) {
	m, err := model.Open("stars")
	if err != nil {
		t.Fatal(err)
	}
	const rows, length = 5, 7
	logits := func(sessions int) []float32 {
		r := config.Runtime{Kind: config.KindONNX, Provider: "cpu", Device: []int{0}, Sessions: sessions, Threads: 2, Head: "auto", Optimize: "all", Arena: true, Precision: "model"}
		d, err := backend.Open(t.Context(), r, m, backend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close() //nolint:errcheck // it was only read
		if err := d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Proposal: true, Logits: true}}); err != nil {
			t.Fatal(err)
		}
		b, err := d.Batch(rows, length)
		if err != nil {
			t.Fatal(err)
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
		return slices.Clone(s.Logits)
	}
	want := logits(1)
	if len(want) != rows*length*m.V {
		t.Fatalf("%d logits", len(want))
	}
	for _, n := range []int{2, 8} {
		if diff := cmp.Diff(want, logits(n), cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Errorf("%d sessions: %s", n, diff)
		}
	}
}
