package train

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// others are the networks of the trainer besides the denoiser that are no copies of it, by name: order networks, and planners. One that gives keep is
// new, of the size of the section network, or what train.planner_from names; one that gives logits is what that names.
func others(cfg *config.Config, d *denoiser, t *trainer, length int, seed uint64) (map[string]*denoiser, error) {
	out := map[string]*denoiser{}
	for i := range t.reply.Spec.Networks {
		n := &t.reply.Spec.Networks[i]
		from := cfg.Train.PlannerFrom
		var err error
		switch {
		case n.Name == spec.Denoiser:
			continue
		case n.Signature.Gives("order"):
			out[n.Name], err = orderNetwork(cfg, d, n, seedOf(seed, i))
		case n.Signature.Gives("keep"):
			out[n.Name], err = judge(cfg, d, n, length, seedOf(seed, i))
		case from != "":
			out[n.Name], err = loadPlanner(from, d, n, length)
		case n.Signature.Takes("timesteps") != d.Signature().Takes("timesteps"):
			err = fmt.Errorf("network %s: is not told the time, and the denoiser, of which it would be a copy, takes it; name a masked language model without time with --set train.planner_from=DIR, or train another head", n.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if t.order() == nil {
		if err := unsized(cfg, fmt.Sprintf("trainer %s trains no order network", t.description.Name)); err != nil {
			return nil, err
		}
	}
	if cfg.Train.PlannerFrom != "" && (len(out) == 0 || t.order() != nil) {
		return nil, config.Problems{{Origin: cfg.Origin("train.planner_from"), Key: "train.planner_from", Text: fmt.Sprintf("is given, and trainer %s trains no planner; leave it out, or choose trainer p2planner", t.description.Name)}}
	}
	return out, nil
}

// seedOf is that of the network of a number.
func seedOf(seed uint64, i int) uint64 { return seed + 1 + uint64(i) }

// sizes tells whether the settings of the section network size a network of the trainer's, besides the denoiser.
func (t *trainer) sizes() bool {
	return slices.ContainsFunc(t.reply.Spec.Networks, func(n spec.Network) bool { return n.Signature.Gives("keep") })
}

// judge is a network of the framework's that gives one number a position.
func judge(cfg *config.Config, d *denoiser, n *spec.Network, length int, seed uint64) (*denoiser, error) {
	want := network.Config{VocabSize: d.v, Head: network.HeadKeep, MaskedInput: n.Signature.Takes("masked"), Gaps: cfg.Network.Gaps, UnmaskRate: cfg.Network.UnmaskRate}
	if from := cfg.Train.PlannerFrom; from != "" {
		return loadJudge(from, d, want, length)
	}
	c, err := sizedNetwork(cfg, want, length)
	if err == nil && c.Timed() {
		err = config.Problems{{Origin: cfg.Origin("network.time"), Key: "network.time", Text: "is adaln, and a planner is not told the time; leave it out"}}
	}
	if err != nil {
		return nil, err
	}
	return d.beside(ours(c, network.Initialise(c, seed))), nil
}

// loadJudge reads such a network back.
func loadJudge(from string, d *denoiser, want network.Config, length int) (*denoiser, error) {
	m, err := openPlanner(from, d, length)
	if err != nil {
		return nil, err
	}
	c, values, err := network.From(m)
	switch {
	case err != nil:
		return nil, fmt.Errorf("train.planner_from: %w", err)
	case !c.Judges() || c.MaskedInput != want.MaskedInput || c.Timed():
		return nil, fmt.Errorf("train.planner_from: %s is of head %q with masked_input %t; expected head %q with masked_input %t, as the trainer's options head and mask_pattern ask for", from, c.Head, c.MaskedInput, want.Head, want.MaskedInput)
	}
	return d.beside(ours(c, values)), nil
}

// loadPlanner makes a masked language model a planner.
func loadPlanner(from string, d *denoiser, n *spec.Network, length int) (*denoiser, error) {
	m, err := openPlanner(from, d, length)
	if err != nil {
		return nil, err
	}
	out, err := loadDenoiser(m)
	if err != nil {
		return nil, fmt.Errorf("train.planner_from: %w", err)
	}
	switch s := out.Signature(); {
	case out.v != d.v:
		return nil, fmt.Errorf("train.planner_from: %s has logits %d wide, and the denoiser's have %d; expected a model of the same vocabulary", from, out.v, d.v)
	case s.Takes("timesteps"):
		return nil, fmt.Errorf("train.planner_from: %s takes the time, which a planner is not told; expected a masked language model without", from)
	case n.Signature.Takes("attention_mask") && !s.Takes("attention_mask"):
		return nil, fmt.Errorf("train.planner_from: %s takes no attention mask, and the denoiser does; export it with one", from)
	case out.opset != d.opset && d.config != nil && out.config == nil:
		d.opset = out.opset // the framework's networks can be written in any
	}
	return out, nil
}

// openPlanner opens a model and holds its vocabulary against the denoiser's, id by id.
func openPlanner(from string, d *denoiser, length int) (*model.Model, error) {
	m, err := model.Open(from, model.AsPlanner())
	switch {
	case err != nil:
		return nil, fmt.Errorf("train.planner_from: %w", err)
	case m.MaxLength > 0 && m.MaxLength < length:
		return nil, fmt.Errorf("train.planner_from: %s takes at most %d positions, and the rows have %d; use shorter rows", from, m.MaxLength, length)
	}
	for id := range int32(max(d.tokens.Size(), m.Tokenizer.Size())) {
		if is, want := token(m.Tokenizer, id), token(d.tokens, id); is != want {
			return nil, fmt.Errorf("train.planner_from: token %d of %s is %q, and the denoiser's is %q; expected a model of the same vocabulary", id, from, is, want)
		}
	}
	return m, nil
}

func token(t tokenizer.Tokenizer, id int32) string {
	if int(id) >= t.Size() {
		return ""
	}
	return t.Token(id)
}

// beside gives a network of the framework's the special tokens of the denoiser.
func (d *denoiser) beside(n *denoiser) *denoiser {
	n.mask, n.pad, n.suppress, n.tokens = d.mask, d.pad, d.suppress, d.tokens
	return n
}

// product is the network that the run makes a model of: the denoiser, or where that is frozen the first one that is not.
func (s *session) product() (name string, d *denoiser) {
	networks := s.trainer.reply.Spec.Networks
	frozen := slices.ContainsFunc(networks, func(n spec.Network) bool { return n.Name == spec.Denoiser && n.Frozen })
	for i := range networks {
		if n := &networks[i]; frozen && n.Name != spec.Denoiser && !n.Frozen {
			if own := s.others[n.Name]; own != nil {
				return n.Name, own
			}
			return n.Name, s.denoiser // a copy
		}
	}
	return spec.Denoiser, s.denoiser
}

// planner is what mdm.json says of the network as a planner.
func (d *denoiser) planner() *model.Planner {
	if d.config != nil && d.config.Judges() {
		return &model.Planner{Head: model.HeadBinary, MaskPattern: d.config.MaskedInput}
	}
	return &model.Planner{Head: model.HeadVocabulary}
}

// verdicts say how good a planner's verdicts were at the last evaluation, or in the last steps where there was none, beside those of
// the constant predictor: one that is no better has learned nothing.
func verdicts(lines []record.Line) (notes []string) {
	for _, kind := range []record.Kind{record.Eval, record.Train} {
		for _, l := range slices.Backward(lines) {
			if _, judged := l.Metrics["bce_masked"]; l.Kind != kind || !judged {
				continue
			}
			for _, part := range []string{"masked", "unmasked"} {
				if bce, ok := l.Metrics["bce_"+part]; ok {
					notes = append(notes, fmt.Sprintf("%s positions: cross-entropy %.4f nats, the constant predictor's %.4f; %.1f %% of the tokens are right", part, bce, l.Metrics["constant_"+part], 100*l.Metrics["right_"+part]))
				}
			}
			return notes
		}
	}
	return nil
}

// special are the special tokens of the finished model: the denoiser's for a planner, so that both say the same; nil: what the
// tokenizer's spellings say.
func (s *session) special() *network.Special {
	if name, _ := s.product(); name == spec.Denoiser {
		return nil
	}
	out := network.SpecialOf(s.denoiser.tokens)
	out.Mask, out.Pad = s.denoiser.mask, s.denoiser.pad
	return &out
}
