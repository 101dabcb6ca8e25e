package spread_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/spread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a runtime in Go whose logits follow from a row's tokens alone. It owns its memory like a real one.
type fake struct {
	v      int
	timed  bool
	head   sampling.Head
	memory sampling.Memory
	batch  *sampling.Batch
	all    map[[2]int]*sampling.Batch
	logits []float32
	stats  sampling.Statistics
	fails  error         // what Run ends with
	block  chan struct{} // Run waits for it, or for Close
	most   int
	ran    []int // rows of every pass
}

func (f *fake) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{V: f.v, State: true, Padding: true, Provider: "go", MaxRows: f.most, VocabDots: 2,
		Serves: sampling.Needs{Proposal: true, P1: true, Entropy: sampling.OnModel, TopK: f.v, KLPrev: true, Logits: true}}
}

func (f *fake) Configure(_ context.Context, head sampling.Head) error {
	f.head, f.all = head, map[[2]int]*sampling.Batch{}
	return nil
}

func (f *fake) Batch(b, l int) (*sampling.Batch, error) {
	key := [2]int{b, l}
	if f.all[key] == nil {
		n := b * l
		f.all[key] = &sampling.Batch{B: b, L: l, Tokens: make([]int64, n), Attention: make([]int64, n), Active: make([]uint8, n), Params: make([]sampling.Params, b),
			Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, n)}
		if f.timed {
			f.all[key].Time = make([]float32, b)
		}
		if f.head.Draw == sampling.DrawGumbel {
			f.all[key].Gumbel = make([]float64, n*f.v)
		}
	}
	f.batch = f.all[key]
	return f.batch, nil
}

func (f *fake) Run(ctx context.Context) (*sampling.Statistics, error) {
	if f.block != nil {
		select {
		case <-f.block:
			return nil, errors.New("closed under it")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.fails != nil {
		return nil, f.fails
	}
	b := f.batch
	f.ran = append(f.ran, b.B)
	f.logits = slices.Grow(f.logits[:0], b.B*b.L*f.v)[:b.B*b.L*f.v]
	for r := range b.B {
		seen := uint64(1)
		for i := r * b.L; i < (r+1)*b.L; i++ {
			if b.Attention[i] != 0 {
				seen = seen*31 + uint64(b.Tokens[i])
			}
		}
		if f.timed {
			seen ^= uint64(math.Float32bits(b.Time[r]))
		}
		for i := range b.L * f.v {
			seen = seen*6364136223846793005 + 1442695040888963407
			f.logits[r*b.L*f.v+i] = float32(seen>>40)/(1<<22) - 2
		}
	}
	return &f.stats, f.memory.Compute(f.logits, f.v, b, f.head, &f.stats)
}

func (f *fake) Close() error {
	if f.block != nil {
		close(f.block)
	}
	return nil
}

func over(t require, o spread.Options, members ...*fake) *spread.Denoiser {
	d, err := spread.New(named("device", members), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func named(name string, members []*fake) (all []spread.Member) {
	for i, m := range members {
		all = append(all, spread.Member{Name: fmt.Sprint(name, " ", i), Denoiser: m})
	}
	return all
}

type require interface{ Fatal(args ...any) }

// Whatever the number of devices, the statistics are those of one, bit for bit, through passes in which rows come and go.
func TestSameAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const v = 7
		timed := rapid.Bool().Draw(t, "timed")
		one := &fake{v: v, timed: timed}
		var members []*fake
		for range rapid.IntRange(1, 4).Draw(t, "devices") {
			members = append(members, &fake{v: v, timed: timed})
		}
		many := over(t, spread.Options{}, members...)
		defer many.Close() //nolint:errcheck // a fake
		head := sampling.Head{Suppress: []int32{6}, Filter: true, Needs: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true,
			TopK: rapid.IntRange(0, 3).Draw(t, "k"), KLPrev: rapid.Bool().Draw(t, "kl"), Logits: rapid.Bool().Draw(t, "logits")}}
		if rapid.Bool().Draw(t, "dots") {
			head.Needs.VocabDot = [][]float32{{1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1}}
		}
		if rapid.Bool().Draw(t, "credit") {
			head.Edits.Credit = sampling.Credit{Alpha: 0.5, Gamma: 0.5, Beta: 0.9}
		}
		for _, d := range []sampling.Denoiser{one, many} {
			if err := d.Configure(context.Background(), head); err != nil {
				t.Fatal(err)
			}
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		known := map[int32]int{} // length of the row that lives in a slot
		for range rapid.IntRange(1, 6).Draw(t, "passes") {
			slots := rapid.SliceOfNDistinct(rapid.Int32Range(0, 8), 1, 9, rapid.ID[int32]).Draw(t, "slots")
			l := rapid.IntRange(1, 5).Draw(t, "length")
			var batches []*sampling.Batch
			for _, d := range []sampling.Denoiser{one, many} {
				b, err := d.Batch(len(slots), l)
				if err != nil {
					t.Fatal(err)
				}
				batches = append(batches, b)
			}
			a, b := batches[0], batches[1]
			for i := range a.Tokens {
				a.Tokens[i], a.Attention[i], a.Active[i], a.Uniform[i] = int64(rng.IntN(v)), 1, uint8(rng.IntN(4)&1^1), rng.Float64()
			}
			for i, s := range slots {
				a.Slots[i], a.Fresh[i], a.Params[i] = s, 0, sampling.Params{Temperature: float32(i % 2), TopP: 0.9}
				if known[s] != l {
					known[s], a.Fresh[i] = l, 1
				}
				if timed {
					a.Time[i] = rng.Float32()
				}
			}
			copy(b.Tokens, a.Tokens)
			copy(b.Attention, a.Attention)
			copy(b.Active, a.Active)
			copy(b.Uniform, a.Uniform)
			copy(b.Slots, a.Slots)
			copy(b.Fresh, a.Fresh)
			copy(b.Params, a.Params)
			copy(b.Time, a.Time)
			want, err := one.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got, err := many.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			blank(want, a, head)
			blank(got, b, head)
			if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// blank takes away what is undefined: all that belongs to positions which are not active.
func blank(st *sampling.Statistics, b *sampling.Batch, head sampling.Head) {
	for i, active := range b.Active {
		if active != 0 {
			continue
		}
		st.Proposal[i] = 0
		for _, s := range [][]float32{st.LogpProposal, st.P1, st.P2, st.Entropy, st.LogpCurrent, st.KLPrev} {
			if s != nil {
				s[i] = 0
			}
		}
		for k := range head.Needs.TopK {
			st.TopIDs[i*head.Needs.TopK+k], st.TopLogp[i*head.Needs.TopK+k] = 0, 0
		}
		for c := range head.Needs.VocabDot {
			st.VocabDot[c*len(b.Active)+i] = 0
		}
	}
}

// Rows without memory are dealt evenly, so that no device idles; those with memory stay with their device.
func TestDeals(t *testing.T) {
	for _, c := range []struct {
		kl    bool
		slots []int32
		want  [][]int // rows by device
	}{
		{false, []int32{0, 2, 4}, [][]int{{2}, {1}}},
		{false, []int32{0, 2, 4, 6}, [][]int{{2}, {2}}},
		{false, []int32{5}, [][]int{{1}, nil}},
		{true, []int32{0, 2, 5}, [][]int{{2}, {1}}},
		{true, []int32{1, 3}, [][]int{nil, {2}}},
	} {
		members := []*fake{{v: 3}, {v: 3}}
		d := over(t, spread.Options{}, members...)
		if err := d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{P1: true, KLPrev: c.kl}}); err != nil {
			t.Fatal(err)
		}
		b, err := d.Batch(len(c.slots), 2)
		if err != nil {
			t.Fatal(err)
		}
		copy(b.Slots, c.slots)
		for i := range b.Fresh {
			b.Fresh[i] = 1
		}
		if _, err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, [][]int{members[0].ran, members[1].ran}); diff != "" {
			t.Errorf("slots %v: %s", c.slots, diff)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An error names its device, a context that ends is its own error, and Close ends a run.
func TestEnds(t *testing.T) {
	ready := func(members ...*fake) *spread.Denoiser {
		d := over(t, spread.Options{}, members...)
		if err := d.Configure(t.Context(), sampling.Head{}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Batch(2, 3); err != nil {
			t.Fatal(err)
		}
		return d
	}
	lost := errors.New("device lost")
	d := ready(&fake{v: 3}, &fake{v: 3, fails: lost})
	if _, err := d.Run(t.Context()); !errors.Is(err, lost) || !strings.HasPrefix(err.Error(), "device 1: ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = d.Close()

	d = ready(&fake{v: 3}, &fake{v: 3, block: make(chan struct{})})
	ctx, cancel = context.WithCancel(t.Context())
	go cancel()
	if _, err := d.Run(ctx); err != context.Canceled { //nolint:errorlint // not wrapped: it is nobody's fault
		t.Errorf("got %v", err)
	}
	go func() { _ = d.Close() }()
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("got %v", err)
	}
	for _, err := range []error{d.Configure(t.Context(), sampling.Head{}), d.Close()} {
		if err != nil && !strings.Contains(err.Error(), "was closed") {
			t.Error(err)
		}
	}
	if _, err := d.Batch(1, 1); err == nil {
		t.Error("a closed model gave a batch")
	}
}

// closing is a runtime that is closed from elsewhere while it hands a batch out.
type closing struct {
	fake
	begin  func()
	closed chan struct{}
	early  bool // it was closed before its batch was filled
}

func (c *closing) Batch(b, l int) (*sampling.Batch, error) {
	batch, err := c.fake.Batch(b, l)
	if c.begin != nil {
		go c.begin()
		select {
		case <-c.closed:
			c.early = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	return batch, err
}

func (c *closing) Close() error {
	close(c.closed)
	return nil
}

// Close waits until nobody touches the memory of members.
func TestCloseWhileFilling(t *testing.T) {
	c := &closing{fake: fake{v: 3}, closed: make(chan struct{})}
	d, err := spread.New([]spread.Member{{Name: "a", Denoiser: c}}, spread.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Configure(t.Context(), sampling.Head{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Batch(1, 2); err != nil {
		t.Fatal(err)
	}
	c.begin = func() { _ = d.Close() }
	if _, err := d.Run(t.Context()); err != nil && !strings.Contains(err.Error(), "the model was closed") {
		t.Error(err)
	}
	<-c.closed
	if c.early {
		t.Error("the member was closed while its batch was to be filled")
	}
}

func TestCapabilities(t *testing.T) {
	d := over(t, spread.Options{}, &fake{v: 3, most: 4}, &fake{v: 3, most: 3}, &fake{v: 3})
	defer d.Close() //nolint:errcheck // a fake
	if err := d.Configure(t.Context(), sampling.Head{}); err != nil {
		t.Fatal(err)
	}
	caps := d.Capabilities()
	if caps.MaxRows != 9 || caps.V != 3 || !caps.State || !caps.Serves.KLPrev || caps.Serves.TopK != 3 || caps.Serves.P2 || caps.Provider != "go" {
		t.Errorf("got %+v", caps)
	}
	if _, err := d.Batch(10, 1); err == nil || !strings.Contains(err.Error(), "3 devices take 1 to 9") {
		t.Errorf("a batch of 10: %v", err)
	}
	if diff := cmp.Diff([]string{"rows are spread over device 0, device 1, device 2"}, d.Notes()); diff != "" {
		t.Error(diff)
	}
	_, err := spread.New([]spread.Member{{Name: "device 0", Denoiser: &fake{v: 3}}, {Name: "device 1", Denoiser: &fake{v: 4}}}, spread.Options{})
	if err == nil || !strings.Contains(err.Error(), "device 1 runs a model of 4 tokens") {
		t.Errorf("two models: %v", err)
	}
	if _, err := spread.New(nil, spread.Options{}); err == nil {
		t.Error("took no devices")
	}
}

// The logits of the whole batch lie in the memory that the host gives.
func TestLogitsMemory(t *testing.T) {
	given := make([]float32, 64)
	d := over(t, spread.Options{LogitsMemory: func(bytes int) ([]float32, error) {
		if bytes > 4*len(given) {
			return nil, errors.New("no more")
		}
		return given, nil
	}}, &fake{v: 3}, &fake{v: 3})
	defer d.Close() //nolint:errcheck // a fake
	if err := d.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{Logits: true}}); err != nil {
		t.Fatal(err)
	}
	run := func(b int) (*sampling.Statistics, error) {
		batch, err := d.Batch(b, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Active {
			batch.Active[i] = 1
		}
		return d.Run(t.Context())
	}
	st, err := run(4)
	if err != nil || len(st.Logits) != 4*2*3 || &st.Logits[0] != &given[0] {
		t.Errorf("%d logits elsewhere (%v)", len(st.Logits), err)
	}
	if _, err := run(40); err == nil || !strings.Contains(err.Error(), "memory for logits: no more") {
		t.Errorf("got %v", err)
	}
}

// still is a runtime whose passes allocate nothing.
type still struct{ fake }

func (s *still) Run(context.Context) (*sampling.Statistics, error) { return &s.stats, nil }

// A pass of a size that was there before allocates nothing.
func TestNoAllocations(t *testing.T) {
	stats := sampling.Statistics{Proposal: make([]int32, 8), P1: make([]float32, 8), TopIDs: make([]int32, 16)}
	a, b := &still{fake{v: 3, stats: stats}}, &still{fake{v: 3, stats: stats}}
	d, err := spread.New([]spread.Member{{Name: "a", Denoiser: a}, {Name: "b", Denoiser: b}}, spread.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // a fake
	if err := d.Configure(t.Context(), sampling.Head{}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	pass := func() {
		if _, err := d.Batch(4, 4); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	if n := testing.AllocsPerRun(50, pass); n != 0 {
		t.Errorf("%v allocations a pass", n)
	}
}
