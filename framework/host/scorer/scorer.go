// Package scorer opens the planner's own network (planner.network): a second model on the denoiser's runtime that reads the
// candidates of a step, nothing masked, and scores their tokens (P2, section 3.3 of the sheet p2.md). With a vocabulary head,
// as every BERT has it, the score of a token is its log-probability at its position; with a binary head it is
// log sigmoid(keep). The two vocabularies may differ: ids are translated by the texts of their tokens.
package scorer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Network is a planner's network beside the denoiser whose candidates it scores. It is a [sampling.Scorer].
type Network struct {
	setting string // that names it, and where that came from
	model   *model.Model
	words   *translation
	notes   []string
	runner  *onnx.Denoiser
	scores  []float32 // [B, L]
}

var _ sampling.Scorer = (*Network)(nil)

// Open opens planner.network beside a denoiser; the settings must name one. Errors name the setting and where it came from.
func Open(ctx context.Context, cfg *config.Config, denoiser *model.Model) (*Network, error) {
	n := &Network{setting: fmt.Sprintf("planner.network (%s)", cfg.Origin("planner.network"))}
	if err := n.open(ctx, cfg, denoiser); err != nil {
		return nil, fmt.Errorf("%s: %w", n.setting, errors.Join(err, n.Close()))
	}
	return n, nil
}

func (n *Network) open(ctx context.Context, cfg *config.Config, denoiser *model.Model) (err error) {
	if err := backend.Local(cfg, "planner.network"); err != nil {
		return err
	}
	if n.model, err = model.Open(cfg.Planner.Network, model.AsPlanner()); err != nil {
		return err
	}
	m := n.model
	suppressed := backend.Suppressed(cfg.Sampling, denoiser)
	suppressed = slices.DeleteFunc(suppressed, func(id int32) bool { return int(id) >= denoiser.V }) // refused at the start
	if m.Timesteps {
		return fmt.Errorf("model %s takes timesteps, expected a network without, since candidates hold no mask and have no time; name another one", m.Name)
	}
	if n.words, err = translate(denoiser, m, suppressed); err != nil {
		return err
	}
	if note := n.words.note(denoiser, m); note != "" {
		n.notes = append(n.notes, note)
	}
	source, options := backend.Source(m), backend.ONNX(cfg.Runtime)
	head := sampling.Head{Needs: sampling.Needs{LogpCurrent: true}, Suppress: n.words.suppressed(m, suppressed), Present: true}
	if n.binary() {
		source.Data, source.V, source.MaskID = keepAsLogits(m.Graph), 1, 0
		head, options.Head = sampling.Head{Needs: sampling.Needs{Logits: true}}, onnx.HeadGo
	}
	if n.runner, err = onnx.Open(ctx, source, options); err != nil {
		return err
	}
	return n.runner.Configure(ctx, head)
}

// Model is the network's.
func (n *Network) Model() *model.Model { return n.model }

// Notes are what the user should know of it, such as tokens that it does not know.
func (n *Network) Notes() []string { return n.notes }

func (n *Network) binary() bool { return n.model.Manifest.Planner.Head == model.HeadBinary }

// keepAsLogits returns the network with its output keep [B, L] as logits [B, L, 1], the shape that a runtime hands over.
func keepAsLogits(m *graph.Model) []byte {
	whole, g := *m, *m.Graph
	g.Initializers = append(slices.Clip(g.Initializers), graph.OfInts("mdm/one_wide", []int64{3}, []int64{0, 0, 1})) // 0: as it is
	g.Nodes = append(slices.Clip(g.Nodes), &graph.Node{Name: "mdm/keep", Op: "Reshape", Inputs: []string{"keep", "mdm/one_wide"}, Outputs: []string{"mdm/kept"}})
	g.Outputs = []*graph.ValueInfo{{Name: "mdm/kept", Type: graph.Float32, HasRank: true, Shape: []graph.Dim{graph.Named("mdm/b"), graph.Named("mdm/l"), graph.Known(1)}}}
	whole.Graph = &g
	return whole.Encode()
}

// Fits refuses rows that are longer than the network can read.
func (n *Network) Fits(rows []sampling.Request) error {
	for _, r := range rows {
		if most := n.model.MaxLength; most > 0 && len(r.Tokens) > most {
			return &sampling.Error{Code: sampling.InvalidConfig, Object: n.setting,
				Problem: fmt.Sprintf("model %s reads rows of at most %d positions, special tokens included, and row %d has %d", n.model.Name, most, r.Index, len(r.Tokens)),
				Hint:    "use a smaller --length or shorter inputs, or name another network"}
		}
	}
	return nil
}

// Score implements [sampling.Scorer]. Rows that the network's export cannot take at once go one batch after the other.
func (n *Network) Score(ctx context.Context, c *sampling.Candidates) ([]float32, error) {
	n.scores = slices.Grow(n.scores[:0], c.B*c.L)[:c.B*c.L]
	for lo := 0; lo < c.B; {
		hi := n.together(c, lo)
		if err := n.score(ctx, c, lo, hi); err != nil {
			return nil, fmt.Errorf("planner.network: %w", err)
		}
		lo = hi
	}
	return n.scores, nil
}

// together returns the end of the rows from lo on that share a pass.
func (n *Network) together(c *sampling.Candidates, lo int) int {
	caps, hi := n.runner.Capabilities(), lo+1
	for hi < c.B && (caps.MaxRows == 0 || hi-lo < caps.MaxRows) && (caps.Padding || c.Lengths[hi] == c.Lengths[lo]) {
		hi++
	}
	return hi
}

// score runs rows lo to hi.
func (n *Network) score(ctx context.Context, c *sampling.Candidates, lo, hi int) error {
	length := slices.Max(c.Lengths[lo:hi])
	if most := n.model.MaxLength; most > 0 && length > most {
		return fmt.Errorf("model %s: a row of %d positions, expected at most %d; shorten the rows, or name another network", n.model.Name, length, most)
	}
	b, err := n.runner.Batch(hi-lo, length)
	if err != nil {
		return err
	}
	for i := range hi - lo {
		b.Params[i] = sampling.Params{TopP: 1}
		for j := range length {
			at, from := i*length+j, (lo+i)*c.L+j
			id := n.words.ids[c.Tokens[from]]
			b.Active[at], b.Attention[at] = c.Wanted[from], 1
			if id == unheard {
				id, b.Active[at] = n.model.MaskID, 0
			}
			if j >= c.Lengths[lo+i] {
				id, b.Attention[at] = n.model.PadID, 0
			}
			b.Tokens[at] = int64(id)
			if b.Masked != nil {
				b.Masked[at] = int64(c.Proposed[from])
			}
		}
	}
	st, err := n.runner.Run(ctx)
	if err != nil {
		return err
	}
	for i := range hi - lo {
		for j := range length {
			at, to := i*length+j, (lo+i)*c.L+j
			switch {
			case c.Wanted[to] == 0:
			case b.Active[at] == 0:
				n.scores[to] = float32(math.Inf(-1))
			case n.binary():
				n.scores[to] = logSigmoid(st.Logits[at])
			default:
				n.scores[to] = st.LogpCurrent[at]
			}
		}
	}
	return nil
}

// logSigmoid is ln(1 / (1 + exp(-x))), without overflow.
func logSigmoid(x float32) float32 {
	return float32(min(float64(x), 0) - math.Log1p(math.Exp(-math.Abs(float64(x)))))
}

// Close frees the runtime's side of the network.
func (n *Network) Close() error {
	if n.runner == nil {
		return nil
	}
	return n.runner.Close()
}
