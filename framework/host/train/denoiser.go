package train

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// denoiser is a network that is trained or evaluated, one of the framework's own or somebody's ONNX file.
type denoiser struct {
	artifact.Network
	values   map[string][]float32
	opset    int64
	v        int // width of the logits
	mask     int32
	pad      int32 // -1: nothing is padded
	tokens   tokenizer.Tokenizer
	suppress []int64 // ids that no position can turn out to be, sorted
	notes    []string

	exponents []float32 // [V] parameters of a learned schedule (spec.RawExponents), or nil

	config  *network.Config  // of the framework's own networks, else nil
	foreign *foreign.Network // of other files, else nil
	model   *model.Model     // where it came from; nil for a new network
}

// source is the model that a run begins with, or nil.
func source(cfg *config.Config) (*model.Model, error) {
	if cfg.Train.From == "" {
		return nil, nil
	}
	m, err := model.Open(cfg.Train.From)
	if err != nil {
		return nil, fmt.Errorf("train.from: %w", err)
	}
	return m, nil
}

// newDenoiser makes a new network for the data.
func newDenoiser(cfg *config.Config, d *data.Data, seed uint64) (*denoiser, error) {
	c, err := sizedNetwork(cfg, network.Config{VocabSize: d.Vocabulary.Size(), Gaps: cfg.Network.Gaps, UnmaskRate: cfg.Network.UnmaskRate}, d.Train.Length())
	if err == nil && c.Rates() {
		err = endsFixed(cfg, d)
	}
	if err != nil {
		return nil, err
	}
	special := network.SpecialOf(d.Vocabulary)
	if special.Mask < 0 {
		return nil, fmt.Errorf("data.tokenizer: has no one mask token such as [MASK]; expected one, which stands for what is to be written")
	}
	out := ours(c, network.Initialise(c, seed))
	out.mask, out.pad, out.tokens = special.Mask, special.Pad, d.Vocabulary
	out.suppress = suppressed(d.Vocabulary, out.v, out.mask, out.pad, c.Rates())
	return out, nil
}

// sizedNetwork is a new network, c with the settings of the section network, for rows of so many positions.
func sizedNetwork(cfg *config.Config, c network.Config, length int) (network.Config, error) {
	n := cfg.Network
	c.HiddenSize, c.Layers, c.Heads, c.Intermediate, c.MaxPositions = n.HiddenSize, n.Layers, n.Heads, n.Intermediate, length
	c.Norm, c.Activation, c.Positions, c.Bias, c.Tied, c.Time = n.Norm, n.Activation, n.Positions, n.Bias, n.Tied, n.Time
	if c.Positions == network.Grid || n.Rows > 0 || n.Columns > 0 {
		c.Grid = &network.GridSpec{Rows: n.Rows, Cols: n.Columns}
	}
	if c.Positions == network.Grid || c.Positions == network.Sudoku {
		c.MaxPositions = 0 // the grid says how many cells there are
	}
	c = c.Filled()
	if err := c.Validate(); err != nil {
		return c, networkProblems(cfg, err)
	}
	if c.MaxPositions != length {
		return c, config.Problems{{Origin: cfg.Origin("data.length"), Key: "data.length", Text: fmt.Sprintf("is %d, and the network's grid has %d cells; expected as many", length, c.MaxPositions)}}
	}
	return c, nil
}

// networkKeys are the settings behind keys of config.json that are called otherwise.
var networkKeys = map[string]string{"grid.rows": "network.rows", "grid.cols": "network.columns", "grid": "network.rows", "max_position_embeddings": "data.length"}

// networkProblems gives what is wrong with a network the names of settings and their origins.
func networkProblems(cfg *config.Config, err error) error {
	var wrong network.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	var out config.Problems
	for _, p := range wrong {
		key := cmp.Or(networkKeys[p.Key], "network."+p.Key)
		out = append(out, config.Problem{Origin: cfg.Origin(key), Key: key, Text: p.Text})
	}
	return out
}

func ours(c network.Config, values network.Values) *denoiser {
	return &denoiser{Network: artifact.Transformer(c), values: values, opset: graph.DefaultOpset, v: c.VocabSize, config: &c}
}

// loadDenoiser makes a model a network: the framework's own from their parameters, others from their ONNX file.
func loadDenoiser(m *model.Model) (out *denoiser, err error) {
	if err := trainable(m); err != nil {
		return nil, err
	}
	if err := m.RefuseShift("training"); err != nil {
		return nil, err
	}
	if m.Config.ModelType == network.ModelType {
		c, values, err := network.From(m)
		if err != nil {
			return nil, err
		}
		out = ours(c, values)
	} else {
		n, report, err := foreign.Read(m.Graph, foreign.Options{Name: m.Name, Dir: m.ONNXDir(), Positions: m.Config.MaxPositions})
		if err != nil {
			return nil, err
		}
		out = &denoiser{Network: n, values: map[string][]float32{}, opset: n.Opset(), v: m.V, foreign: n}
		for i, v := range n.Values() {
			out.values[n.Parameters()[i].Name] = v
		}
		out.notes = strings.Split(strings.TrimSpace(report.String()), "\n")
	}
	if out.exponents, err = rawExponents(m); err != nil {
		return nil, err
	}
	out.model, out.mask, out.pad, out.tokens = m, m.MaskID, m.Config.Pad, m.Tokenizer
	out.suppress = suppressed(m.Tokenizer, out.v, out.mask, out.pad, m.Insertion())
	return out, nil
}

// rounded says in what precision parameters were stored that are trained in float32, or "".
func (d *denoiser) rounded() string {
	if d.model == nil || d.config == nil {
		return ""
	}
	if stored, _ := d.model.Config.Raw["dtype"].(string); stored != network.Float32 {
		return stored
	}
	return ""
}

// suppressed are the ids, sorted, that no position can turn out to be, in training and in evaluations alike: those that no row of
// data has as a target. That is the mask, the padding (-1: none) unless rows end with it, and ids without a token. What a model is
// told not to write when it samples is no such thing. Where rows grow, tokens that stand around every text are given, and nothing
// else is one of them.
func suppressed(t tokenizer.Tokenizer, v int, mask, pad int32, grows bool) (out []int64) {
	prefix, suffix := t.Template()
	for id := range int32(v) {
		written := slices.Contains(prefix, id) || slices.Contains(suffix, id)
		if id == mask || written && grows || id == pad && !written || t.Token(id) == "" {
			out = append(out, int64(id))
		}
	}
	return out
}

// fits holds a loaded network against the data of a run.
func (d *denoiser) fits(cfg *config.Config, set *data.Data) error {
	if d.grows() {
		if err := endsFixed(cfg, set); err != nil {
			return err
		}
	}
	length := set.Train.Length()
	switch m := d.model; {
	case m.Tokenizer.Size() != set.Vocabulary.Size():
		return fmt.Errorf("train.from: the model's tokenizer has %d tokens and the data's %d; expected the same tokenizer", m.Tokenizer.Size(), set.Vocabulary.Size())
	case m.FixedLength() > 0 && m.FixedLength() != length:
		return fmt.Errorf("data.length: is %d, and model %s takes exactly %d positions; use that", length, m.Name, m.FixedLength())
	case m.Config.MaxPositions > 0 && m.Config.MaxPositions < length:
		return fmt.Errorf("data.length: is %d, and model %s has %d positions; use at most those", length, m.Name, m.Config.MaxPositions)
	}
	return nil
}

// tokenizer is the model's tokenizer.json, or nil for a new network.
func tokenizerOf(m *model.Model) ([]byte, error) {
	if m == nil {
		return nil, nil
	}
	return m.ReadFile("tokenizer.json")
}

// flat lays values out as the artifacts do.
func flat(ps []artifact.Parameter, values func(p *artifact.Parameter) ([]float32, error)) ([]float32, error) {
	var out []float32
	for i := range ps {
		v, err := values(&ps[i])
		if err != nil {
			return nil, err
		}
		if int64(len(v)) != ps[i].Size() {
			return nil, fmt.Errorf("parameter %s: has %d numbers, expected shape %v", ps[i].Name, len(v), ps[i].Shape)
		}
		out = append(out, v...)
	}
	return out, nil
}
