package genmd4_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/genmd4"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Eight pairs of a key, 0 or 1, and a value, 2 or 3: the key, flipped with probability 0.1 (X5 of the sheet md4.md). The denoiser is
// a table that sees the parity of its position and its left neighbour, so that it pays to write keys early.
const (
	pairs      = 8
	pairTokens = 5 // the last is the mask
	flip       = 0.1
)

// table is the denoiser: logits [2 x 5, 5] by parity and left neighbour, the mask where there is none.
type table struct{}

func (table) Signature() graph.Signature {
	return graph.Signature{Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("B", "L")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("B", "L", pairTokens)}}}
}

func (table) Parameters() []artifact.Parameter {
	return []artifact.Parameter{{Name: "table", Shape: []int64{2 * pairTokens, pairTokens}}}
}

func (table) Build(b *graph.Builder, parameters, inputs map[string]graph.Value) map[string]graph.Value {
	ids := inputs["input_ids"]
	first := b.Add(b.Mul(b.Slice(ids, 1, 0, 1), b.Int(0)), b.Int(pairTokens-1))
	left := b.Concat(1, first, b.Slice(ids, 1, 0, -1))
	parity := make([]int64, 2*pairs)
	for i := range parity {
		parity[i] = int64(i%2) * pairTokens
	}
	return map[string]graph.Value{"logits": b.Gather(parameters["table"], b.Add(left, b.Ints(parity...)), 0)}
}

// study is a training of the table and the exponents.
type study struct {
	t              *testing.T
	rng            *rand.Rand
	set            *artifact.Set
	training, eval *onnx.Program
	params         []float32 // the table, then raw
}

const studyRows, evalRows = 64, 2000

func newStudy(t *testing.T, options string) *study {
	t.Helper()
	task := spec.Task{Options: []byte(options), V: pairTokens, MaskID: pairTokens - 1, PadID: -1, Suppressed: []int64{pairTokens - 1}, Denoiser: table{}.Signature(), Opset: graph.DefaultOpset}
	reply, err := genmd4.New().Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	s := &study{t: t, rng: rand.New(rand.NewPCG(3, 9))}
	if s.set, err = artifact.Compose(artifact.Composition{Trainer: "genmd4", Task: task, Reply: reply, Networks: map[string]artifact.Network{spec.Denoiser: table{}},
		Rows: studyRows, EvalRows: evalRows, Length: 2 * pairs, Adam: artifact.AdamW{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}}); err != nil {
		t.Fatal(err)
	}
	d := try.Device(t)
	program := func(m *graph.Model, outputs ...string) *onnx.Program {
		p, err := d.NewProgram(t.Context(), onnx.Model{Name: m.Graph.Name, Data: m.Encode()}, onnx.ProgramOptions{Outputs: outputs})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	s.training, s.eval = program(s.set.Training, spec.Loss, artifact.Grads), program(s.set.Eval, spec.RowBound)
	s.params = make([]float32, s.set.Manifest.Size())
	for i := range pairTokens {
		s.exponents()[i] = float32(math.Log(math.E - 1))
	}
	return s
}

// exponents are the parameters raw.
func (s *study) exponents() []float32 { return s.params[len(s.params)-pairTokens:] }

// w are the exponents of key 0, key 1, value 2 and value 3.
func (s *study) w() (w [4]float64) {
	for i := range w {
		w[i] = math.Log1p(math.Exp(float64(s.exponents()[i])))
	}
	return w
}

// run feeds rows of data and noise; times share an offset.
func (s *study) run(p *onnx.Program, rows int) {
	s.t.Helper()
	feed, err := p.NewFeed()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = feed.Close() }()
	if tokens, err := feed.Int64("tokens"); err != nil {
		s.t.Fatal(err)
	} else {
		for at := 0; at < len(tokens); at += 2 {
			key := int64(s.rng.IntN(2))
			tokens[at], tokens[at+1] = key, 2+key
			if s.rng.Float64() < flip {
				tokens[at+1] = 3 - key
			}
		}
	}
	if free, err := feed.Bool("free"); err != nil {
		s.t.Fatal(err)
	} else {
		for i := range free {
			free[i] = true
		}
	}
	offset := s.rng.Float64()
	noise := func(int) float64 { return 1e-7 + (1-2e-7)*s.rng.Float64() }
	time := func(i int) float64 { return math.Mod(offset+float64(i)/float64(rows), 1) }
	for _, in := range []struct {
		name   string
		number func(i int) float64
	}{{"params", func(i int) float64 { return float64(s.params[i]) }}, {"a", noise}, {"b", noise}, {"time", time}, {"time2", time}} {
		if f, err := feed.Float32(in.name); err == nil { // an evaluation has one noise and a time of its own
			for i := range f {
				f[i] = float32(in.number(i))
			}
		}
	}
	if err := p.Run(s.t.Context(), feed); err != nil {
		s.t.Fatal(err)
	}
}

// train takes steps of Adam.
func (s *study) train(steps int, lr float64) {
	s.t.Helper()
	m, v := make([]float64, len(s.params)), make([]float64, len(s.params))
	for step := 1; step <= steps; step++ {
		s.run(s.training, studyRows)
		grads, err := s.training.Output(artifact.Grads)
		if err != nil {
			s.t.Fatal(err)
		}
		for i, g := range grads {
			m[i], v[i] = 0.9*m[i]+0.1*float64(g), 0.999*v[i]+0.001*float64(g)*float64(g)
			at, spread := m[i]/(1-math.Pow(0.9, float64(step))), v[i]/(1-math.Pow(0.999, float64(step)))
			s.params[i] -= float32(lr * at / (math.Sqrt(spread) + 1e-8))
		}
	}
}

// bound is the mean bound of many rows and its standard error, nats per token.
func (s *study) bound(passes int) (mean, se float64) {
	s.t.Helper()
	sum, squares, n := 0.0, 0.0, float64(passes*evalRows)
	for range passes {
		s.run(s.eval, evalRows)
		bound, err := s.eval.Output(spec.RowBound)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, x := range bound {
			x := float64(x) / (2 * pairs)
			sum, squares = sum+x, squares+x*x
		}
	}
	mean = sum / n
	return mean, math.Sqrt((squares/n - mean*mean) / n)
}

// closed is the bound of the best table for exponents a of keys and b of values, nats per token.
func closed(a, b float64) float64 {
	h := -flip*math.Log(flip) - (1-flip)*math.Log(1-flip)
	return (math.Ln2 + b/(a+b)*math.Ln2 + a/(a+b)*h) / 2
}

// The evaluation of the best table gives the closed form: 0.601 nats for equal exponents (MD4), 0.546 where keys are four times as
// fast, and 0.509, the entropy, in the limit. False alarms: 6 standard errors are 2e-9; 1e-3 is more than eps and t1 cost.
func TestPairsInClosedForm(t *testing.T) {
	s := newStudy(t, `{"timeless": true}`)
	for left := range pairTokens {
		for v, p := range [2][4]float64{{0.5, 0.5, 0, 0}, {0, 0, 0.5, 0.5}} {
			if v == 1 && left < 2 {
				p[2+left], p[3-left] = 1-flip, flip
			}
			for x, q := range p {
				s.params[(v*pairTokens+left)*pairTokens+x] = float32(math.Log(max(q, 1e-20)))
			}
		}
	}
	if limit := closed(1e9, 1); math.Abs(limit-0.509) > 6e-4 {
		t.Errorf("the limit is %.4f, the sheet says 0.509", limit)
	}
	for _, c := range []struct{ a, b, want float64 }{{1, 1, 0.601}, {2, 2, 0.601}, {2, 0.5, 0.546}, {6, 0.5, 0.523}} {
		if math.Abs(closed(c.a, c.b)-c.want) > 6e-4 {
			t.Errorf("exponents %v and %v: the closed form is %.4f, the sheet says %.3f", c.a, c.b, closed(c.a, c.b), c.want)
		}
		for i, w := range []float64{c.a, c.a, c.b, c.b} {
			s.exponents()[i] = float32(w + math.Log(-math.Expm1(-w)))
		}
		if mean, se := s.bound(10); math.Abs(mean-closed(c.a, c.b)) > 6*se+1e-3 {
			t.Errorf("exponents %v and %v: bound %.4f ± %.4f, closed form %.4f", c.a, c.b, mean, se, closed(c.a, c.b))
		} else {
			t.Logf("exponents %v and %v: bound %.4f ± %.4f, closed form %.4f", c.a, c.b, mean, se, closed(c.a, c.b))
		}
	}
}

// Trained from exponents 1, keys become much faster than values, and the bound falls well below what any table reaches without.
func TestPairsAreLearned(t *testing.T) {
	s := newStudy(t, `{"timeless": true}`)
	s.train(2000, 0.02)
	w := s.w()
	ratio := (w[0] + w[1]) / (w[2] + w[3])
	mean, se := s.bound(10)
	t.Logf("w %.2f, bound %.4f ± %.4f", w, mean, se)
	if ratio < 4 || min(w[0], w[1]) < 4*max(w[2], w[3]) {
		t.Errorf("exponents %.3f: keys are %.1f times as fast as values, expected at least 4", w, ratio)
	}
	if most := closed(4, 1); mean > most || math.Abs(mean-closed(ratio, 1)) > 6*se+0.01 {
		t.Errorf("exponents %.3f: bound %.4f ± %.4f; expected less than %.4f, and about %.4f", w, mean, se, most, closed(ratio, 1))
	}
	frozen := newStudy(t, `{"timeless": true, "frozen": true}`)
	frozen.train(500, 0.02)
	if w := frozen.w(); w != [4]float64{w[0], w[0], w[0], w[0]} || math.Abs(w[0]-1) > 1e-6 {
		t.Errorf("frozen exponents became %v", w)
	}
	if mean, se := frozen.bound(10); math.Abs(mean-closed(1, 1)) > 6*se+0.01 {
		t.Errorf("frozen exponents: bound %.4f ± %.4f, closed form %.4f", mean, se, closed(1, 1))
	}
}
