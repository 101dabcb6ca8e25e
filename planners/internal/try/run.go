package try

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
)

// TB is what a run needs of a test; *testing.T and *rapid.T have it.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// Run is a whole run of a planner: the host's loop, the sampler masked and a model made of a Go function.
type Run struct {
	Planner        func() sampling.Planner
	Options        string // the planner's, as a JSON object
	SamplerOptions string
	Sampler        func() sampling.Sampler // nil: masked
	Model          Denoiser                // its last token is the mask
	Seed           uint64
	Batch          int
	Requests       []sampling.Request         // all of one temperature
	Exponents      []float32                  // of the tokens; nil: all 1
	Frame          func(*sampling.LoopConfig) // nil: no blocks, no bounds
}

// Do samples the requests and returns the results by index.
func (r Run) Do(t TB) map[int64]sampling.Result {
	t.Helper()
	planner, model, mask := r.Planner(), r.Model, int32(r.Model.V-1)
	d, err := planner.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	caps := model.Capabilities()
	about := sampling.Run{ID: "try", Options: []byte(r.Options), Capabilities: caps, MaskID: mask, V: int(mask), Exponents: r.Exponents}
	if r.Exponents == nil {
		about.Exponents = Exponents(int(mask))
	}
	filter := false
	for _, q := range r.Requests {
		about.Temperature = float64(q.Params.Temperature)
		filter = filter || q.Params.TopP < 1 || q.Params.TopK > 0 || q.Params.MinP > 0
	}
	needs, err := planner.Start(t.Context(), about)
	if err != nil {
		t.Fatal(err)
	}
	if missing := caps.Missing(needs); len(missing) > 0 {
		t.Fatalf("%s needs %v, which try.Denoiser does not serve; teach it", d.Name, missing)
	}
	sampler := masked.New()
	if r.Sampler != nil {
		sampler = r.Sampler()
	}
	about.Options = []byte(r.SamplerOptions)
	driving, err := sampler.Start(t.Context(), about)
	if err != nil {
		t.Fatal(err)
	}
	all, err := needs.Union(driving)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Configure(t.Context(), sampling.Head{Needs: all, Suppress: []int32{mask}, Present: d.CanRemask, Filter: filter}); err != nil {
		t.Fatal(err)
	}
	out, next := map[int64]sampling.Result{}, 0
	config := sampling.LoopConfig{
		Denoiser: &model, Planner: planner, PlannerName: d.Name, SamplerName: "masked", CanRemask: d.CanRemask, PlannerNeeds: needs, SamplerNeeds: driving, Seed: r.Seed,
		MaskID: mask, V: int(mask), Rows: max(r.Batch, 1), RunID: about.ID,
		Next: func() (sampling.Request, bool) {
			if next == len(r.Requests) {
				return sampling.Request{}, false
			}
			next++
			return r.Requests[next-1], true
		},
		Sink: func(r sampling.Result) error { out[r.Index] = r; return nil },
	}
	if r.Frame != nil {
		r.Frame(&config)
	}
	loop, err := sampling.NewLoop(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := sampler.Sample(t.Context(), loop); err != nil {
		t.Fatal(err)
	}
	if err := loop.Done(); err != nil {
		t.Fatal(err)
	}
	return out
}
