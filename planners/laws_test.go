package planners_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

var lawRows = flag.Int("law.rows", 2000, "rows that TestLaws samples from each joint: `just bench-laws` takes more")

// law is a way of sampling, and what is known of its distribution when the denoiser is exact and tokens are drawn.
type law struct {
	sampler, samplerOptions string
	planner, options        string
	steps                   int
	exact                   bool // the joint itself
}

const lawLength = 6

// laws are all planners and samplers, some at several costs. Steps are those of a row of six blanks.
var laws = []law{
	{planner: "random", steps: 6, exact: true},
	{planner: "random", steps: 3},
	{planner: "sequential", steps: 6, exact: true},
	{planner: "confidence", steps: 6, exact: true},
	{planner: "confidence", steps: 3},
	{planner: "confidence", steps: 2},
	{planner: "margin", steps: 6, exact: true},
	{planner: "margin", steps: 3},
	{planner: "entropy", steps: 6, exact: true},
	{planner: "entropy", steps: 3},
	{planner: "low_confidence", steps: 6},
	{planner: "low_confidence", steps: 3},
	{planner: "dream", options: `{"alg":"origin"}`, steps: 6},
	{planner: "dream", options: `{"alg":"maskgit_plus"}`, steps: 6},
	{planner: "dream", options: `{"alg":"entropy"}`, steps: 6},
	{planner: "maskgit", steps: 6},
	{planner: "maskgit", steps: 3},
	{planner: "density", options: `{"sigma":1}`, steps: 6},
	{planner: "pc_sampler", steps: 6},
	{planner: "halton", options: `{"rows":2,"cols":3,"schedule":"auto"}`, steps: 6, exact: true},
	{planner: "ancestral", steps: 6},
	{planner: "ancestral", steps: 12},
	{planner: "ancestral", steps: 48},
	{planner: "ancestral", options: `{"form":"count"}`, steps: 6},
	{planner: "genmd4", steps: 12},
	{planner: "eb", options: `{"gamma":0}`, steps: 6, exact: true},
	{planner: "eb", options: `{"gamma":0.05}`, steps: 6},
	{planner: "eb", options: `{"gamma":0.1}`, steps: 6},
	{planner: "eb", options: `{"gamma":0.2}`, steps: 6},
	{planner: "eb", options: `{"gamma":0.4}`, steps: 6},
	{planner: "eb", options: `{"gamma":0.8}`, steps: 6},
	{planner: "eb", options: `{"gamma":0.4,"max_entropy":0.2}`, steps: 6},
	{planner: "threshold", options: `{"threshold":0.9}`, steps: 6},
	{planner: "threshold", options: `{"threshold":0.6}`, steps: 6},
	{planner: "factor", options: `{"factor":0.5}`, steps: 6},
	{planner: "factor", options: `{"factor":1}`, steps: 6},
	{planner: "hierarchy", steps: 6},
	{planner: "klass", steps: 6},
	{planner: "klass", options: `{"conf_threshold":0.6,"kl_threshold":0.1,"history_length":1}`, steps: 6},
	{planner: "p2", options: `{"eta":0}`, steps: 6},
	{planner: "p2", steps: 6},
	{planner: "p2", steps: 12},
	{planner: "p2", options: `{"eta":2}`, steps: 12},
	{planner: "p2", options: `{"mask_score":"uniform","unmask_score":"keep"}`, steps: 6, exact: true},
	{planner: "p2", options: `{"mask_score":"uniform","unmask_score":"uniform"}`, steps: 12},
	{planner: "p2", options: `{"condition":"cond","unmask_token":"redrawn","score_logits":"tempered"}`, steps: 12},
	{planner: "remdm", options: `{"strategy":"cap","eta":0.04}`, steps: 24},
	{planner: "remdm", options: `{"strategy":"rescale","eta":0.04}`, steps: 24},
	{planner: "remdm", options: `{"strategy":"conf"}`, steps: 24},
	{planner: "remdm", options: `{"strategy":"loop","eta":0.04}`, steps: 24},
	{planner: "remdm", options: `{"strategy":"forward_backward"}`, steps: 24},
	{planner: "dfm", steps: 24},
	{planner: "dfm", options: `{"solver":"euler","div_free":1}`, steps: 24},
	{planner: "edit", options: `{"threshold":0.6}`, steps: 12},
	{planner: "wino", steps: 12},
	{planner: "wino", options: `{"confidence":"max"}`, steps: 12},
	{planner: "wino", options: `{"narrow_out":0.6}`, steps: 12},
	{sampler: "infogain", planner: "confidence", steps: 6},
	{sampler: "infogain", samplerOptions: `{"variant":"lookum"}`, planner: "confidence", steps: 6},
	{sampler: "infogain", samplerOptions: `{"position_temperature":0}`, planner: "confidence", steps: 6},
	{sampler: "gillespie", planner: "confidence", steps: 6, exact: true},
	{sampler: "gillespie", samplerOptions: `{"mask_score":"denoiser"}`, planner: "confidence", steps: 6},
	{sampler: "gillespie", samplerOptions: `{"mask_score":"denoiser","unmask_score":"denoiser"}`, planner: "p2", steps: 60},
	{sampler: "insertion", planner: "confidence", steps: 6},
	{sampler: "insertion", planner: "confidence", steps: 48},
	{sampler: "insertion", samplerOptions: `{"confidence":"top_prob"}`, planner: "confidence", steps: 48},
}

// sample runs the law on a joint and returns how often each row came, the mean NFE and the mean number of revisions.
func (w law) sample(t *testing.T, j try.Joint, rows int, seed uint64) (counts []float64, nfe, revised float64) {
	t.Helper()
	r := try.Run{
		Planner: planners.All()[w.planner], Options: cmp.Or(w.options, "{}"), Sampler: samplers.All()[cmp.Or(w.sampler, "masked")], SamplerOptions: cmp.Or(w.samplerOptions, "{}"),
		Model: try.Denoiser{V: j.V + 1, Logits: j.LogitsOfOthers}, Seed: seed, Batch: 64,
	}
	for i := range rows {
		r.Requests = append(r.Requests, sampling.Request{Index: int64(i), Tokens: slices.Repeat([]int32{int32(j.V)}, j.L), Steps: w.steps,
			Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	counts = make([]float64, len(j.P))
	for _, result := range r.Do(t) {
		counts[try.Number(j, result.Tokens)]++
		nfe += float64(result.NFE) / float64(rows)
		revised += float64(result.Revised) / float64(rows)
	}
	return counts, nfe, revised
}

// distance returns the total variation between the joint and what came, and KL(joint, what came) with half a row added to
// every possible one, so that it is finite.
func distance(j try.Joint, counts []float64) (tv, kl float64) {
	n, possible := 0.0, 0.0
	for i, c := range counts {
		n += c
		if c > 0 || j.P[i] > 0 {
			possible++
		}
	}
	shares := make([]float64, len(counts))
	for i, p := range j.P {
		if shares[i] = counts[i] / n; p > 0 {
			kl += p * math.Log(p*(n+possible/2)/(counts[i]+0.5))
		}
	}
	return try.Distance(j.P, shares), kl
}

// noise is what distance says of rows that come from the joint itself.
func noise(j try.Joint, rows int, seed uint64) (tv, kl float64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	counts := make([]float64, len(j.P))
	for range rows {
		u, at := rng.Float64(), 0
		for ; at < len(j.P)-1 && (j.P[at] == 0 || u >= j.P[at]); at++ {
			u -= j.P[at]
		}
		counts[at]++
	}
	return distance(j, counts)
}

// Every planner and sampler on explicit joints with the exact denoiser, tokens drawn: how far its law is from the joint, for
// how many forward passes. Laws that are the joint stay within the noise (false alarms: [try.ByChance], 1e-8 a joint), and no
// planner misses a row of the table.
func TestLaws(t *testing.T) {
	const joints = 3
	n := *lawRows
	var table strings.Builder
	fmt.Fprintf(&table, "| sampler | planner | steps | NFE | KL, nats | TV | revised |\n|---|---|---|---|---|---|---|\n")
	line := func(w law, nfe, kl, tv, revised float64) {
		fmt.Fprintf(&table, "| %s | %s | %d | %.2f | %.4f | %.4f | %.2f |\n", strings.TrimSpace(cmp.Or(w.sampler, "masked")+" "+code(w.samplerOptions)),
			strings.TrimSpace(w.planner+" "+code(w.options)), w.steps, nfe, kl, tv, revised)
	}
	var floor struct{ tv, kl float64 }
	for seed := range joints {
		tv, kl := noise(try.NewJoint(lawLength, 3, 2, uint64(seed)), n, uint64(seed))
		floor.tv, floor.kl = floor.tv+tv/joints, floor.kl+kl/joints
	}
	fmt.Fprintf(&table, "| the joint itself (noise) | | | | %.4f | %.4f | |\n", floor.kl, floor.tv)
	shown := map[string]bool{}
	for _, w := range laws {
		if planners.All()[w.planner] == nil || samplers.All()[cmp.Or(w.sampler, "masked")] == nil {
			t.Errorf("%+v: no such plugin", w)
			continue
		}
		shown[w.planner], shown[w.sampler] = true, true
		t.Run(strings.TrimSpace(w.sampler+" "+w.planner+" "+code(w.options)), func(t *testing.T) {
			var nfe, kl, tv, revised float64
			for seed := range joints {
				j := try.NewJoint(lawLength, 3, 2, uint64(seed))
				counts, passes, again := w.sample(t, j, n, uint64(1000+seed))
				far, nats := distance(j, counts)
				if most := try.ByChance(j.P, n); w.exact && far > most {
					t.Errorf("%+v, joint %d: total variation %.4f from the joint, at most %.4f expected", w, seed, far, most)
				}
				nfe, kl, tv, revised = nfe+passes/joints, kl+nats/joints, tv+far/joints, revised+again/joints
			}
			line(w, nfe, kl, tv, revised)
		})
	}
	for name := range planners.All() {
		if !shown[name] {
			t.Errorf("planner %s has no line; add it to laws", name)
		}
	}
	for name := range samplers.All() {
		if !shown[name] && name != "masked" {
			t.Errorf("sampler %s has no line; add it to laws", name)
		}
	}
	t.Log("\n" + table.String())
}

// code is a JSON object of options as people write them.
func code(options string) string {
	return strings.NewReplacer("{", "", "}", "", `"`, "", ":", "=", ",", " ").Replace(options)
}
