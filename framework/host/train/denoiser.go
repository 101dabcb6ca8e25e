package train

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// denoiser is the network that is trained, with all that the model directory will say of it.
type denoiser struct {
	artifact.Network
	config  network.Config
	values  network.Values // where a new run begins
	special network.Special
	v       int // width of the logits
	opset   int64
	beyond  []int32 // ids that are no token, besides the special ones
}

// openDenoiser makes a new network for the data, or loads the one of train.from.
func openDenoiser(cfg *config.Config, d *data.Data, seed uint64) (*denoiser, error) {
	out := &denoiser{opset: graph.DefaultOpset, special: network.SpecialOf(d.Vocabulary)}
	if out.special.Mask < 0 {
		return nil, fmt.Errorf("data.tokenizer: has no one mask token such as [MASK]; expected one, which stands for what is to be written")
	}
	length := d.Train.Length()
	if from := cfg.Train.From; from != "" {
		var err error
		if out.config, out.values, err = network.Load(from); err != nil {
			return nil, err
		}
		if out.config.VocabSize != d.Vocabulary.Size() {
			return nil, fmt.Errorf("train.from: the model has %d tokens and the data's tokenizer %d; expected the same tokenizer", out.config.VocabSize, d.Vocabulary.Size())
		}
		if out.config.MaxPositions < length {
			return nil, fmt.Errorf("data.length: is %d, and the model of train.from has %d positions; use at most those", length, out.config.MaxPositions)
		}
	} else {
		n := cfg.Network
		out.config = network.Config{VocabSize: d.Vocabulary.Size(), HiddenSize: n.HiddenSize, Layers: n.Layers, Heads: n.Heads, Intermediate: n.Intermediate,
			MaxPositions: length, Norm: n.Norm, Activation: n.Activation, Positions: n.Positions, Bias: n.Bias, Tied: n.Tied, Time: n.Time}
		if n.Rows > 0 || n.Columns > 0 {
			out.config.Grid = &network.GridSpec{Rows: n.Rows, Cols: n.Columns}
		}
		if out.config.Positions == network.Grid || out.config.Positions == network.Sudoku {
			out.config.MaxPositions = 0 // the grid says how many cells there are
		}
		out.config = out.config.Filled()
		if err := out.config.Validate(); err != nil {
			return nil, err
		}
		if out.config.MaxPositions < length {
			return nil, fmt.Errorf("data.length: is %d, and the network's grid has %d cells; expected as many", length, out.config.MaxPositions)
		}
		out.values = network.Initialise(out.config, seed)
	}
	out.Network, out.v = artifact.Transformer(out.config), out.config.VocabSize
	return out, nil
}

// tokenizerOf is the tokenizer.json of the model that a run begins with, or nil.
func tokenizerOf(cfg *config.Config) ([]byte, error) {
	if cfg.Train.From == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(cfg.Train.From, "tokenizer.json"))
	if err != nil {
		return nil, fmt.Errorf("train.from: %w; expected a model directory", err)
	}
	return text, nil
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
