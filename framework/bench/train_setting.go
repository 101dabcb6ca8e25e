package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/md4"
)

// setting is a network and a batch. All rows are full: the network gets no attention mask.
type setting struct {
	name         string
	network      network.Config
	rows, length int
}

var settings = []*setting{
	{"sudoku", sized(14, 128, 81, network.Sudoku), 64, 81},
	{"text", sized(64, 256, 256, network.RoPE), 16, 256},
}

// sized is a network of 6 layers and 4 heads with the default norms and activation.
func sized(v, d, length int, positions string) network.Config {
	c := network.Config{VocabSize: v, HiddenSize: d, Layers: 6, Heads: 4, Positions: positions, Bias: true, HeadInit: "normal"}
	if positions == network.RoPE {
		c.MaxPositions = length
	}
	return c.Filled()
}

func (s *setting) String() string {
	return fmt.Sprintf("d %d, L %d, %d layers, %d heads, B %d, V %d", s.network.HiddenSize, s.length, s.network.Layers, s.network.Heads, s.rows, s.network.VocabSize)
}

// eps is MD4's shift of the linear schedule: u = eps + (1 - 2 eps) t.
const eps = 1e-4

// adam are the settings of the optimiser, with the learning rate and the clipping that are fed.
var adam = artifact.AdamW{Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8, WeightDecay: 0.03}

const (
	rate = 1e-3
	clip = 1.0
)

// description is setting.json: what both sides read. The numbers stand beside it, little-endian, in the files that it names.
type description struct {
	Network    network.Config       `json:"network"`
	Rows       int                  `json:"rows"`
	Length     int                  `json:"length"`
	Mask       int                  `json:"mask"` // the last token, which is never data
	Eps        float64              `json:"eps"`
	Adam       artifact.AdamW       `json:"adam"`
	Rate       float64              `json:"rate"`
	Clip       float64              `json:"clip"`
	Parameters []artifact.Parameter `json:"parameters"` // of params.f32; the others are tokens.i64 [B, L], u.f32 [B, L], time.f32 [B, 1]
}

// write puts the setting into a new directory.
func (s *setting) write(dir string) error {
	set, err := s.compose(autodiff.Options{})
	if err != nil {
		return err
	}
	d := description{Network: s.network, Rows: s.rows, Length: s.length, Mask: s.network.VocabSize - 1, Eps: eps, Adam: adam, Rate: rate, Clip: clip, Parameters: set.Manifest.Parameters}
	values := network.Initialise(s.network, 1)
	var params []float32
	for _, p := range network.Params(s.network) {
		params = append(params, values[p.Name]...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	tokens := make([]int64, s.rows*s.length)
	for i := range tokens {
		tokens[i] = random.Int64N(int64(d.Mask))
	}
	u, time := make([]float32, len(tokens)), make([]float32, s.rows)
	diffusion.NewNoise(1, "u").Uniform(u, 0, 0, s.length)
	diffusion.NewNoise(1, "time").Time(time, 0, 0, s.rows, diffusion.SharedOffset, 0)
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	errs := []error{os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "setting.json"), text, 0o644)}
	for name, numbers := range map[string]any{"params.f32": params, "tokens.i64": tokens, "u.f32": u, "time.f32": time} {
		var raw bytes.Buffer
		errs = append(errs, binary.Write(&raw, binary.LittleEndian, numbers), os.WriteFile(filepath.Join(dir, name), raw.Bytes(), 0o644))
	}
	return errors.Join(errs...)
}

// compose makes the artifacts of MD4 with the linear schedule.
func (s *setting) compose(o autodiff.Options) (*artifact.Set, error) {
	net := full{artifact.Transformer(s.network)}
	task := spec.Task{Options: []byte(`{"eval": "time"}`), V: s.network.VocabSize, MaskID: int64(s.network.VocabSize - 1), PadID: -1,
		Suppressed: []int64{int64(s.network.VocabSize - 1)}, Denoiser: net.Signature(), Opset: graph.DefaultOpset}
	reply, err := md4.New().Build(context.Background(), task)
	if err != nil {
		return nil, err
	}
	return artifact.Compose(artifact.Composition{Task: task, Reply: reply, Networks: map[string]artifact.Network{spec.Denoiser: net},
		Rows: s.rows, EvalRows: s.rows, Length: s.length, Adam: adam, Autodiff: o})
}

// full is a network whose rows have no padding.
type full struct{ artifact.Network }

func (n full) Signature() graph.Signature {
	s := n.Network.Signature()
	out := graph.Signature{Outputs: s.Outputs}
	for _, p := range s.Inputs {
		if p.Name != "attention_mask" {
			out.Inputs = append(out.Inputs, p)
		}
	}
	return out
}
