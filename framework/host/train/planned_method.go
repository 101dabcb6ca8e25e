package train

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// PlannedBounds are the names of the bounds of planned samplers.
func PlannedBounds() []string { return []string{"p2", "pelbo"} }

// method is a bound with a planner of its list.
type method struct {
	planner string
	kind    string // of the total
	options map[string]any
	parts   []evaluate.Part // in the order of the terms
	certain bool            // there is one path: nothing is drawn
	law     bool            // enumeration gives log p itself, too: the last part
	on      func(denoiser evaluate.Network, score evaluate.Scorer) running
}

// running is a method on a model. Terms are the total and the parts, in nats of log p.
type running struct {
	draws func(s *evaluate.Sequence, seed uint64, row, from, to, all int) ([][]float64, error)
	exact func(s *evaluate.Sequence) ([]float64, error)
}

// plannedPlanners are the planners of each bound; the first is the default. Their options are JSON Schema.
var plannedPlanners = map[string][]struct{ name, schema string }{
	"p2": {{"self", ""}, {"keep", ""}, {"ancestral", ""}, {"network", `{"type": "object", "additionalProperties": false, "properties": {
		"mask_score": {"type": "string", "enum": ["denoiser", "network"], "default": "denoiser"},
		"per_position": {"type": "boolean", "default": false}}}`}},
	"pelbo": {{"greedy", ""}, {"uniform", ""}, {"soft_greedy", `{"type": "object", "additionalProperties": false, "properties": {"tau": {"type": "number", "exclusiveMinimum": 0}}}`},
		{"p2_topk", `{"type": "object", "additionalProperties": false, "properties": {"eta": {"type": "number", "exclusiveMinimum": 0}}}`}},
}

// chooseMethod finds bound and planner, and checks the planner's options. Only flags name a planner of a bound: files and the environment
// name one that samples.
func chooseMethod(cfg *config.Config, p PlannedOptions) (*method, error) {
	if !slices.Contains(PlannedBounds(), p.Bound) {
		return nil, config.Problems{{Text: fmt.Sprintf("no bound %q of a planned sampler%s", p.Bound, nearest.DidYouMean(p.Bound, PlannedBounds()))}}
	}
	list := plannedPlanners[p.Bound]
	m := &method{planner: list[0].name}
	flag := func(key string) bool { return cfg.Origin(key).Layer == config.LayerFlag }
	switch {
	case flag("planner.name"):
		m.planner = cfg.Planner.Name
	case p.Bound == "p2" && cfg.Planner.Network != "":
		m.planner = "network"
	}
	var names []string
	for _, one := range list {
		names = append(names, one.name)
	}
	at := slices.Index(names, m.planner)
	if at < 0 {
		return nil, config.Problems{{Origin: cfg.Origin("planner.name"), Key: "planner.name", Text: fmt.Sprintf("bound %s knows no planner %q%s", p.Bound, m.planner, nearest.DidYouMean(m.planner, names))}}
	}
	given := maps.Clone(cfg.Planner.Options)
	maps.DeleteFunc(given, func(name string, _ any) bool { return !flag("planner." + name) })
	options, err := config.ValidateOptions(list[at].schema, given, func(name string) (string, config.Origin) { return "planner." + name, cfg.Origin("planner." + name) })
	if err != nil {
		return nil, err
	}
	m.options = options
	switch reads := m.planner == "network"; {
	case reads && cfg.Planner.Network == "":
		return nil, config.Problems{{Key: "planner.network", Text: "is empty, expected the network whose scores the planner is; name it with --set planner.network=DIR, or choose --planner self"}}
	case !reads && flag("planner.network"):
		return nil, config.Problems{{Origin: cfg.Origin("planner.network"), Key: "planner.network", Text: fmt.Sprintf("planner %s of bound %s reads no network; leave it out, or choose --bound p2 --planner network", m.planner, p.Bound)}}
	}
	if p.Bound == "p2" {
		return m, m.p2(cfg, p.Exact)
	}
	m.pelbo(p.Exact)
	return m, nil
}

const term = "term"

// p2 is the expanded bound.
func (m *method) p2(cfg *config.Config, exact bool) error {
	m.kind = string(spec.PathBound)
	gm, gu := evaluate.G{Self: true}, evaluate.G{}
	says := []string{"the chain that writes in random order and never revises", "self-planning, equal to -E_D", "written tokens stay, G_U = 1"}
	switch m.planner {
	case "self":
		gu.Self, says[2] = true, "the denoiser's own opinion of written tokens"
	case "ancestral":
		m.kind, gm, says[1] = string(spec.Bound), evaluate.G{}, "every proposal is written, G_M = 1"
	case "network":
		says[2] = "the network's opinion of written tokens"
		if m.options["mask_score"] == "network" {
			says[1] = "the network's opinion of proposals"
			if m.options["per_position"] != true && !exact {
				return config.Problems{{Origin: cfg.Origin("planner.mask_score"), Key: "planner.mask_score",
					Text: "network takes a call of the network for every masked position, since E_MP puts the true token there; set planner.per_position=true if that is meant, or planner.mask_score=denoiser"}}
			}
		}
	}
	m.parts = []evaluate.Part{{Name: "-E_D", Kind: string(spec.Bound), Says: says[0]}, {Name: "-E_MP", Kind: term, Says: says[1]}, {Name: "-E_UP", Kind: term, Says: says[2]}}
	terms := func(t evaluate.P2Terms) []float64 { return []float64{t.Total(), t.ED, t.EMP, t.EUP} }
	m.on = func(denoiser evaluate.Network, score evaluate.Scorer) running {
		p := &evaluate.P2{Denoiser: denoiser, GM: gm, GU: gu}
		if m.planner == "network" {
			p.GU.Score = score
			if m.options["mask_score"] == "network" {
				p.GM = evaluate.G{Score: score}
			}
		}
		return running{
			draws: func(s *evaluate.Sequence, seed uint64, row, from, to, all int) ([][]float64, error) {
				t, err := p.Draws(s, evaluate.P2Noise{Seed: seed, Row: row}, from, to, all)
				return each(t, terms), err
			},
			exact: func(s *evaluate.Sequence) ([]float64, error) {
				t, err := p.Exact(s)
				return terms(t), err
			},
		}
	}
	return nil
}

// pelbo is P-ELBO with the planners whose F has a closed form or an integral. Enumeration of an order's subsets gives the law of its
// sampler as well; P2's top-k may mask again what it wrote, and has none here.
func (m *method) pelbo(exact bool) {
	m.kind = string(spec.PathBound)
	number := func(name string) float64 {
		if x, ok := m.options[name].(float64); ok {
			return x
		}
		if x, ok := m.options[name].(int); ok {
			return float64(x)
		}
		m.options[name] = 1.0
		return 1
	}
	var order evaluate.Order
	eta := 0.0
	corollary := evaluate.Part{Kind: m.kind}
	switch m.planner {
	case "uniform":
		order, m.kind = evaluate.UniformOrder{}, string(spec.Bound)
	case "greedy":
		order, m.certain = evaluate.GreedyOrder{}, true
		corollary.Name, corollary.Says = "A.8", "looser: every other masked position proposes its true token"
	case "soft_greedy":
		order = evaluate.SoftGreedyOrder{Tau: number("tau")}
		corollary.Name, corollary.Says = "A.9", "looser: E2 by Jensen's inequality"
	case "p2_topk":
		eta, m.certain = number("eta"), true
		corollary.Name, corollary.Says = "A.13", "looser: every other masked position proposes its true token"
	}
	m.parts = []evaluate.Part{{Name: "-E1", Kind: term, Says: "the true tokens, where the planner goes"}, {Name: "-E2", Kind: term, Says: "the planner going there; of either sign"}}
	if corollary.Name != "" {
		m.parts = append(m.parts, corollary)
	}
	bounds := 1 + len(m.parts)
	terms := func(t evaluate.PELBOTerms) []float64 { return []float64{t.Total(), t.E1, t.E2, t.Corollary}[:bounds] }
	if m.law = exact && order != nil; m.law {
		m.parts = append(m.parts, evaluate.Part{Name: "-log p", Kind: "exact", Says: "of the sampler itself"})
	}
	m.on = func(denoiser evaluate.Network, _ evaluate.Scorer) running {
		if order == nil {
			return running{exact: func(s *evaluate.Sequence) ([]float64, error) {
				t, err := (&evaluate.TopK{Denoiser: denoiser, Eta: eta}).Exact(s)
				return terms(t), err
			}}
		}
		p := &evaluate.PELBO{Denoiser: denoiser, Order: order}
		return running{
			draws: func(s *evaluate.Sequence, seed uint64, row, from, to, _ int) ([][]float64, error) {
				t, err := p.Draws(s, seed, row, from, to)
				return each(t, terms), err
			},
			exact: func(s *evaluate.Sequence) ([]float64, error) {
				t, err := p.Exact(s)
				if err != nil || !m.law {
					return terms(t), err
				}
				law, err := p.LogLikelihood(s)
				return append(terms(t), law), err
			},
		}
	}
}

func each[T any](all []T, terms func(T) []float64) [][]float64 {
	out := make([][]float64, len(all))
	for i, t := range all {
		out[i] = terms(t)
	}
	return out
}

// candidates are rows as the planner's own network reads them.
func (k *planned) candidates(z, x [][]int64, free []int) *sampling.Candidates {
	length := len(z[0])
	c := &sampling.Candidates{B: len(z), L: length, Tokens: make([]int32, 0, len(z)*length), Proposed: make([]uint8, len(z)*length), Wanted: make([]uint8, len(z)*length)}
	for r := range z {
		c.Lengths = append(c.Lengths, length)
		for _, id := range z[r] {
			c.Tokens = append(c.Tokens, int32(id))
		}
		for _, i := range free {
			at := r*length + i
			c.Wanted[at] = 1
			if x[r][i] == int64(k.model.MaskID) {
				c.Proposed[at] = 1
			}
		}
	}
	return c
}
