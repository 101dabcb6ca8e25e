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
	"slices"

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
	mask         int64
	suppressed   []int64 // tokens that are never data
	options      string  // of md4
}

var settings = []*setting{
	{"sudoku", sized(14, 128, 81, network.Sudoku), 64, 81, 13, []int64{13}, byTime},
	{"text", sized(64, 256, 256, network.RoPE), 16, 256, 63, []int64{63}, byTime},
}

// byTime spares evaluations an input that the steps do not have.
const byTime = `{"eval": "time"}`

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
	Mask       int64                `json:"mask"` // the last token, which is never data
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
	d := description{Network: s.network, Rows: s.rows, Length: s.length, Mask: s.mask, Eps: eps, Adam: adam, Rate: rate, Clip: clip, Parameters: set.Manifest.Parameters}
	random := rand.New(rand.NewPCG(1, 2))
	tokens := make([]int64, s.rows*s.length)
	for i := range tokens {
		tokens[i] = random.Int64N(d.Mask)
	}
	u, time := make([]float32, len(tokens)), make([]float32, s.rows)
	diffusion.NewNoise(1, "u").Uniform(u, 0, 0, s.length)
	diffusion.NewNoise(1, "time").Time(time, 0, 0, s.rows, diffusion.SharedOffset, 0)
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	errs := []error{os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "setting.json"), text, 0o644)}
	for name, numbers := range map[string]any{"params.f32": s.initial(), "tokens.i64": tokens, "u.f32": u, "time.f32": time} {
		var raw bytes.Buffer
		errs = append(errs, binary.Write(&raw, binary.LittleEndian, numbers), os.WriteFile(filepath.Join(dir, name), raw.Bytes(), 0o644))
	}
	return errors.Join(errs...)
}

// initial are the first values of all parameters [P].
func (s *setting) initial() []float32 {
	values := network.Initialise(s.network, 1)
	var out []float32
	for _, p := range network.Params(s.network) {
		out = append(out, values[p.Name]...)
	}
	return out
}

// take notes the special tokens of a vocabulary.
func (s *setting) take(special network.Special) {
	s.mask = int64(special.Mask)
	for _, id := range []int32{special.Mask, special.Pad} {
		if id >= 0 {
			s.suppressed = append(s.suppressed, int64(id))
		}
	}
	slices.Sort(s.suppressed)
}

// compose makes the artifacts of MD4 with the linear schedule.
func (s *setting) compose(o autodiff.Options) (*artifact.Set, error) {
	net := full{artifact.Transformer(s.network)}
	task := spec.Task{Options: []byte(s.options), V: s.network.VocabSize, MaskID: s.mask, PadID: -1, Suppressed: s.suppressed, Denoiser: net.Signature(), Opset: graph.DefaultOpset}
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
