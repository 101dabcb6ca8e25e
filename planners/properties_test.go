package planners_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// world is a model and what a run asks of it. Its logits are a function of the visible row, harsh on planners.
type world struct {
	v           int // writable tokens; the mask is id v
	seed        uint64
	temperature float32
	topP        float32
	grid        string
	blocks      sampling.Blocks
	maxNFE      int
	holdBack    []int32
	requests    []sampling.Request
}

// logits gives every position one of: random, all tokens equal, all but one -Inf, nearly certain, or the same as everywhere.
func (w world) logits(tokens []int64, out []float32) {
	h := w.seed
	for _, t := range tokens {
		h = (h ^ uint64(t)) * 1099511628211
	}
	all := rand.New(rand.NewPCG(h, 7)).IntN(4) == 0 // ties everywhere
	for i := range tokens {
		rng := rand.New(rand.NewPCG(h, uint64(i)))
		z := out[i*(w.v+1) : (i+1)*(w.v+1)]
		kind, sure := rng.IntN(5), rng.IntN(w.v)
		for v := range z {
			switch {
			case all || kind == 1:
				z[v] = 0
			case kind == 2 && v != sure:
				z[v] = float32(math.Inf(-1))
			case kind == 3 && v == sure:
				z[v] = 9
			default:
				z[v] = 2 * float32(rng.NormFloat64())
			}
		}
		z[w.v] = 100 // the mask's own logit must never matter
	}
}

// drawWorld draws rows of every shape: length 1, all fixed, nothing masked, written but free, more steps than blanks.
func drawWorld(rt *rapid.T) world {
	w := world{v: rapid.IntRange(2, 6).Draw(rt, "tokens"), seed: rapid.Uint64().Draw(rt, "seed"),
		temperature: rapid.SampledFrom([]float32{0, 1, 5}).Draw(rt, "temperature"), topP: rapid.SampledFrom([]float32{1, 0.8}).Draw(rt, "top_p"),
		grid: rapid.SampledFrom([]string{"linear", "cosine", "mdlm", "dream"}).Draw(rt, "grid")}
	if rapid.Bool().Draw(rt, "framed") {
		w.blocks = sampling.Blocks{Length: rapid.IntRange(0, 6).Draw(rt, "block"), Absolute: rapid.Bool().Draw(rt, "absolute")}
		w.maxNFE = rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(rt, "max_nfe")
		w.holdBack = rapid.SampledFrom([][]int32{nil, {0}, {0, 1}}).Draw(rt, "hold back")
	}
	for i := range rapid.IntRange(1, 4).Draw(rt, "rows") {
		n := rapid.SampledFrom([]int{1, 2, 5, 9, 14}).Draw(rt, "length")
		kind := rapid.SampledFrom([]string{"blank", "mixed", "mixed", "all fixed", "nothing masked"}).Draw(rt, "row")
		r := sampling.Request{Index: int64(10*i + 3), Fixed: make([]bool, n), Steps: rapid.IntRange(0, 2*n).Draw(rt, "steps"),
			Params: sampling.Params{Temperature: w.temperature, TopP: w.topP}}
		for j := range n {
			token := int32(w.v)
			if kind == "nothing masked" || kind == "all fixed" || kind == "mixed" && rapid.Bool().Draw(rt, "written") {
				token = int32(rapid.IntRange(0, w.v-1).Draw(rt, "token"))
				r.Fixed[j] = kind == "all fixed" || rapid.Bool().Draw(rt, "fixed")
			}
			r.Tokens = append(r.Tokens, token)
		}
		w.requests = append(w.requests, r)
	}
	return w
}

// run samples the requests in batches of the given size.
func (w world) run(t *rapid.T, name string, options []byte, batch int, requests []sampling.Request) map[int64]sampling.Result {
	return try.Run{Planner: planners.All()[name], Options: string(options), SamplerOptions: `{"grid":"` + w.grid + `"}`,
		Model: try.Denoiser{V: w.v + 1, Logits: w.logits}, Seed: w.seed, Batch: batch, Requests: requests,
		Frame: func(c *sampling.LoopConfig) { c.Blocks, c.MaxNFE, c.HoldBack = w.blocks, w.maxNFE, w.holdBack }}.Do(t)
}

// drawOptions draws options from the planner's own schema. Where the planner refuses the combination it gets another, and
// its defaults where it goes on refusing.
func drawOptions(rt *rapid.T, name string) []byte {
	for range 6 {
		if raw, ok := drawCombination(rt, name); ok {
			return raw
		}
	}
	return []byte(`{}`)
}

// drawCombination draws options and tells whether the planner takes them.
func drawCombination(rt *rapid.T, name string) (raw []byte, ok bool) {
	p := planners.All()[name]()
	d, err := p.Describe(rt.Context())
	if err != nil {
		rt.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Type             any
			Enum             []string
			Minimum, Maximum *float64
		}
	}
	if err := json.Unmarshal([]byte(d.OptionsSchema), &schema); err != nil {
		rt.Fatal(err)
	}
	options, keys := map[string]any{}, []string{}
	for key := range schema.Properties {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		o := schema.Properties[key]
		low, high := math.Inf(-1), math.Inf(1)
		if o.Minimum != nil {
			low = *o.Minimum
		}
		if o.Maximum != nil {
			high = *o.Maximum
		}
		switch {
		case rapid.Bool().Draw(rt, key+" by default"):
		case o.Enum != nil:
			options[key] = rapid.SampledFrom(o.Enum).Draw(rt, key)
		case o.Type == "boolean":
			options[key] = rapid.Bool().Draw(rt, key)
		case o.Type == "integer":
			options[key] = min(max(float64(rapid.IntRange(0, 6).Draw(rt, key)), low), high)
		case o.Type != "string":
			options[key] = min(max(rapid.SampledFrom([]float64{0, 1e-6, 0.1, 0.5, 0.9, 1, 2, 50}).Draw(rt, key), low), high)
		}
	}
	raw, err = json.Marshal(options)
	if err != nil {
		rt.Fatal(err)
	}
	_, err = p.Start(rt.Context(), sampling.Run{Options: raw, V: 2, Exponents: try.Exponents(2)})
	return raw, err == nil
}

// Every planner that the project has, present or future, with any options that it takes, on any row: it ends within its
// steps, leaves fixed positions and never a mask, and a row's result is a function of the seed and the row alone.
func TestProperties(t *testing.T) {
	for name, make := range planners.All() {
		t.Run(name, func(t *testing.T) {
			d, err := make().Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				w, options := drawWorld(rt), drawOptions(rt, name)
				together := w.run(rt, name, options, rapid.IntRange(1, 4).Draw(rt, "batch"), w.requests)
				for _, r := range w.requests {
					got, ok := together[r.Index]
					if !ok {
						rt.Fatalf("%s %s: row %d did not come out", name, options, r.Index)
					}
					check(rt, w, d, r, got)
					alone := w.run(rt, name, options, 1, []sampling.Request{r})[r.Index]
					for _, pair := range [][2]any{{alone.Tokens, got.Tokens}, {alone.NFE, got.NFE}, {alone.Steps, got.Steps}, {alone.StepMap, got.StepMap}} {
						if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
							rt.Fatalf("%s %s: row %d depends on its neighbours (-alone +among others):\n%s", name, options, r.Index, diff)
						}
					}
				}
			})
		})
	}
}

// check holds one result against its request.
func check(rt *rapid.T, w world, d sampling.Description, r sampling.Request, got sampling.Result) {
	blanks := 0
	for i, token := range r.Tokens {
		if token == int32(w.v) {
			blanks++
		}
		switch now := got.Tokens[i]; {
		case now < 0 || now >= int32(w.v):
			rt.Fatalf("position %d holds %d after the run", i, now)
		case now != token && r.Fixed[i]:
			rt.Fatalf("position %d is fixed and changed from %d to %d", i, token, now)
		case now != token && token != int32(w.v) && !d.CanRemask:
			rt.Fatalf("position %d was written and changed from %d to %d", i, token, now)
		}
	}
	steps := r.Steps
	if steps == 0 {
		steps = blanks
	}
	steps = max(steps, checkBlocks(rt, w, r, got)) // each has one at least
	if got.NFE > steps || got.Steps > steps || blanks == 0 && got.NFE != 0 || blanks > 0 && got.NFE == 0 {
		rt.Fatalf("%d forwards and %d steps for %d blanks in at most %d steps", got.NFE, got.Steps, blanks, steps)
	}
	if d.Adaptive && !d.CanRemask && got.NFE > blanks {
		rt.Fatalf("%d forwards for %d blanks: an adaptive planner opens something in each", got.NFE, blanks)
	}
	bounded := w.maxNFE > 0 && got.NFE == w.maxNFE
	if got.Finish != sampling.FinishComplete && (got.Finish != sampling.FinishSteps || !d.Adaptive && !bounded) || w.maxNFE > 0 && got.NFE > w.maxNFE {
		rt.Fatalf("the row ended as %q after %d of at most %d forwards", got.Finish, got.NFE, w.maxNFE)
	}
}

// checkBlocks holds the order of the blocks against the result: nothing opens in one after something did in the next. It
// returns the number of blocks that had blanks.
func checkBlocks(rt *rapid.T, w world, r sampling.Request, got sampling.Result) (count int) {
	size, first := w.blocks.Length, slices.Index(r.Fixed, false)
	if size == 0 {
		size = len(r.Tokens)
	} else if w.blocks.Absolute {
		first = 0
	}
	last := int32(-1) // step of the blocks before
	for lo := max(first, 0); lo < len(r.Tokens); lo += size {
		least, most, blank := int32(math.MaxInt32), last, false
		for i := lo; i < min(lo+size, len(r.Tokens)); i++ {
			blank = blank || r.Tokens[i] == int32(w.v)
			if step := got.StepMap[i]; step >= 0 {
				least, most = min(least, step), max(most, step)
			}
		}
		if blank {
			count++
		}
		if least < last || least == last && (w.maxNFE == 0 || got.NFE < w.maxNFE) {
			rt.Fatalf("a position of the block from %d on opened in step %d, one of those before in step %d: step map %v", lo, least, last, got.StepMap)
		}
		last = most
	}
	return count
}
