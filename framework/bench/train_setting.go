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
	"strings"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
	"github.com/mdmhost/mdmhost/plugins/trainers/md4"
)

// setting is a network, or with order two of them, and a batch.
type setting struct {
	name         string
	network      network.Config
	order        *network.Config // trainer loflexmdm; nil: md4, whose rows are full, so that its network gets no attention mask
	rows, length int
	mask         int64
	suppressed   []int64 // tokens that are never data
	options      string  // of the trainer
}

var settings = []*setting{
	{"sudoku", sized(14, 128, 81, network.Sudoku), nil, 64, 81, 13, []int64{13}, byTime},
	{"text", sized(64, 256, 256, network.RoPE), nil, 16, 256, 63, []int64{63}, byTime},
	{"molecule_order", growing(128, 4, 48), ordering(128, 4, 48), 64, 48, molecules - 1, never, uniform},
	{"stars_order", growing(64, 3, 48), ordering(64, 3, 48), 32, 48, molecules - 1, never, uniform},
}

// The vocabulary of rows that grow: its last tokens are the end of a row, the padding and the mask.
const (
	molecules = 40
	end       = molecules - 3
	pad       = molecules - 2
)

var never = []int64{pad, molecules - 1}

// growing is an insertion model's network, with time.
func growing(d, layers, length int) network.Config {
	return network.Config{VocabSize: molecules, HiddenSize: d, Layers: layers, Heads: 4, MaxPositions: length, Bias: true, Time: network.AdaLN, Gaps: network.GapsEOS}.Filled()
}

// ordering is an order network of the same size, without time.
func ordering(d, layers, length int) *network.Config {
	c := network.Config{VocabSize: molecules, HiddenSize: d, Layers: layers, Heads: 4, MaxPositions: length, Bias: true, Head: network.HeadOrder}.Filled()
	return &c
}

// byTime spares evaluations an input that the steps do not have.
const byTime = `{"eval": "time"}`

// uniform draws the times of rows that grow uniformly, as the peer does.
const uniform = `{"stretch": 1}`

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
	Order      *network.Config      `json:"order,omitempty"`
	Options    string               `json:"options"` // of the trainer
	Suppressed []int64              `json:"suppressed"`
	Rows       int                  `json:"rows"`
	Length     int                  `json:"length"`
	Mask       int64                `json:"mask"` // the last token, which is never data
	Eps        float64              `json:"eps"`
	Adam       artifact.AdamW       `json:"adam"`
	Rate       float64              `json:"rate"`
	Clip       float64              `json:"clip"`
	Parameters []artifact.Parameter `json:"parameters"` // of params.f32; the others are tokens.i64 [B, L], lengths.i64 [B], time.f32 [B, 1] and noise
}

// write puts the setting into a new directory.
func (s *setting) write(dir string) error {
	set, err := s.compose(autodiff.Options{})
	if err != nil {
		return err
	}
	d := description{Network: s.network, Order: s.order, Options: s.options, Suppressed: s.suppressed, Rows: s.rows, Length: s.length, Mask: s.mask, Eps: eps, Adam: adam,
		Rate: rate, Clip: clip, Parameters: set.Manifest.Parameters}
	random := rand.New(rand.NewPCG(1, 2))
	tokens, lengths := make([]int64, s.rows*s.length), make([]int64, s.rows)
	time := make([]float32, s.rows)
	files := map[string]any{"tokens.i64": tokens, "lengths.i64": lengths, "time.f32": time, "params.f32": s.initial(set)}
	noise := func(name string, width int) {
		x := make([]float32, s.rows*width)
		diffusion.NewNoise(1, name).Uniform(x, 0, 0, width)
		files[name+".f32"] = x
	}
	words := s.mask
	if s.order != nil {
		words = end
	}
	for i := range tokens {
		tokens[i] = random.Int64N(words)
	}
	diffusion.NewNoise(1, "time").Time(time, 0, 0, s.rows, diffusion.SharedOffset, 0)
	for b := range lengths {
		lengths[b] = int64(s.length)
		if s.order == nil {
			continue
		}
		lengths[b] -= random.Int64N(int64(s.length / 2))
		row := tokens[b*s.length : (b+1)*s.length]
		row[lengths[b]-1] = end
		for i := lengths[b]; i < int64(s.length); i++ {
			row[i] = pad
		}
		time[b] = 0.01 + 0.98*time[b]
	}
	if s.order == nil {
		noise("u", s.length)
	} else {
		noise("q_in_pair", 2*s.length)
		noise("q_um_pair", 2*s.length)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	errs := []error{os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "setting.json"), text, 0o644)}
	for name, numbers := range files {
		var raw bytes.Buffer
		errs = append(errs, binary.Write(&raw, binary.LittleEndian, numbers), os.WriteFile(filepath.Join(dir, name), raw.Bytes(), 0o644))
	}
	return errors.Join(errs...)
}

// initial are the first values of all parameters [P].
func (s *setting) initial(set *artifact.Set) []float32 {
	values := network.Initialise(s.network, 1)
	if s.order != nil {
		for name, v := range network.Initialise(*s.order, 2) {
			values[loflexmdm.Order+"."+name] = v
		}
	}
	var out []float32
	for _, p := range set.Manifest.Parameters {
		out = append(out, values[strings.TrimPrefix(p.Name, spec.Denoiser+".")]...)
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

// compose makes the artifacts of MD4 with the linear schedule, or of LoFlexMDM.
func (s *setting) compose(o autodiff.Options) (*artifact.Set, error) {
	var net artifact.Network = full{artifact.Transformer(s.network)}
	networks := map[string]artifact.Network{}
	made, padding := md4.New(), int64(-1)
	if s.order != nil {
		net, networks[loflexmdm.Order] = artifact.Transformer(s.network), artifact.Transformer(*s.order)
		made, padding = loflexmdm.New(), pad
	}
	networks[spec.Denoiser] = net
	task := spec.Task{Options: []byte(s.options), V: s.network.VocabSize, MaskID: s.mask, PadID: padding, Suppressed: s.suppressed, Denoiser: net.Signature(), Opset: graph.DefaultOpset}
	reply, err := made.Build(context.Background(), task)
	if err != nil {
		return nil, err
	}
	return artifact.Compose(artifact.Composition{Task: task, Reply: reply, Networks: networks,
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
