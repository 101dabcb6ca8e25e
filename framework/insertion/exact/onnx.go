package exact

import (
	"encoding/binary"
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/insertion"
)

// Graph is the model as ONNX, for rows of at most longest positions: input_ids and attention_mask int64 [B, L], timesteps float [B] (t, 0
// = empty) to logits [B, L, V+2] and insertion_rate [B, L+1], with unmask_rate [B, L] where the law has speeds of unmasking. A row
// finds its alignments by a number made of its tokens; their probabilities are the closed forms of methods/loflexmdm.md, section 4.2.
func (l *Law) Graph(longest int, a float64) (*graph.Model, error) {
	b := graph.NewBuilder("exact", 20)
	ids := b.Input("input_ids", graph.Int64, graph.Dims("B", "L")...)
	real := b.Input("attention_mask", graph.Int64, graph.Dims("B", "L")...)
	t := b.Input("timesteps", graph.Float32, graph.Dims("B")...)

	all := l.alignments()
	powers := make([]int64, longest+1) // of a base above every id, so that short rows of few tokens have numbers of their own
	for i := range powers {
		powers[i] = int64(math.Pow(float64(l.V+3), float64(i)))
	}
	numbers := make([]int64, len(all))
	for z, x := range all {
		for i, token := range x.Tokens {
			numbers[z] += int64(token+1) * powers[i]
		}
	}
	size := b.Gather(b.Shape(ids), b.Int(1), 0)
	slots := b.Range(size)
	digits := b.Mul(b.Mul(b.Add(ids, b.Int(1)), real), b.Gather(b.Ints(powers...), slots, 0))
	found := b.Equal(b.ReduceSum(digits, true, 1), b.Constant(graph.OfInts("", []int64{1, int64(len(all))}, numbers))) // [B, Z]

	clock := b.Neg(b.Log(b.Sub(b.Double(1), b.Pow(b.Cast(t, graph.Float64), b.Double(a)))))
	clock = b.Unsqueeze(b.Clip(clock, b.Double(1e-9), b.Double(700)), 1)                                                    // [B, 1]
	weights := b.Softmax(b.Select(found, b.MatMul(l.logs(b, clock), l.choice(b, all)), b.Double(-1e9)), 1)                  // [B, Z]
	known := b.Greater(b.ReduceMax(b.Cast(found, graph.Float64), true, 1), b.Double(0.5))                                   // [B, 1]
	missing := b.Select(known, b.MatMul(weights, l.missing(b, all, longest)), b.Double(0))                                  // [B, longest+1]
	rates := b.Gather(b.Reshape(b.MatMul(weights, l.opening(b, all, longest)), graph.Dims("B", longest, l.V)...), slots, 1) // [B, L, V]
	total := b.ReduceSum(rates, true, 2)                                                                                    // [B, L, 1]
	tokens := b.Log(b.Max(b.Div(rates, b.Max(total, b.Double(1e-300))), b.Double(1e-30)))                                   // [B, L, V]
	tokens = b.Select(b.Unsqueeze(known, 2), tokens, b.Double(0))                                                           // flat
	never := b.Expand(b.Double(-100), b.Concat(0, b.Shape(ids), b.Ints(2)))                                                 // padding and mask
	outputs := []graph.Output{{Name: "logits", Value: b.Cast(b.Concat(2, tokens, never), graph.Float32)},
		{Name: "insertion_rate", Value: b.Cast(b.Gather(missing, b.Range(b.Add(size, b.Int(1))), 1), graph.Float32)}}
	if l.BUm != nil {
		rate := b.Select(known, b.Squeeze(total, 2), b.Double(1))
		outputs = append(outputs, graph.Output{Name: "unmask_rate", Value: b.Cast(rate, graph.Float32)})
	}
	return b.Model(outputs...)
}

// logs are log P(dropped), log P(masked), log P(clean) of every position of every string, and a 1 for the string itself: [B, 3K+1].
func (l *Law) logs(b *graph.Builder, u graph.Value) graph.Value {
	var in, um []float64
	for w, s := range l.Strings {
		for j := range s {
			in, um = append(in, speed(l.BIn, w, j)), append(um, speed(l.BUm, w, j))
		}
	}
	row := func(f func(in, um float64) float64) graph.Value {
		v := make([]float64, len(in))
		for k := range v {
			v[k] = f(in[k], um[k])
		}
		return doubles(b, v, 1, int64(len(v)))
	}
	dropped := b.Mul(b.Neg(u), row(func(in, _ float64) float64 { return in }))
	// log of the mean of exp(-x) over [0, y], y = |b_in - b_um| u; the series where y is small
	y := b.Mul(u, row(func(in, um float64) float64 { return math.Abs(in - um) }))
	small := b.Less(y, b.Double(1e-4))
	wide := b.Select(small, b.Double(1), y)
	mean := b.Select(small, b.Mul(y, b.Double(-0.5)), b.Sub(b.Log(b.Sub(b.Double(1), b.Exp(b.Neg(wide)))), b.Log(wide)))
	masked := b.Add(b.Add(b.Sub(row(func(in, _ float64) float64 { return math.Log(in) }), b.Mul(u, row(func(in, um float64) float64 { return min(in, um) }))), b.Log(u)), mean)
	clean := b.Log(b.Max(b.Sub(b.Sub(b.Double(1), b.Exp(dropped)), b.Exp(masked)), b.Double(1e-300)))
	return b.Concat(1, dropped, masked, clean, b.Add(b.Mul(u, b.Double(0)), b.Double(1)))
}

// choice adds up the logs of an alignment and that of its string: [3K+1, Z].
func (l *Law) choice(b *graph.Builder, all []alignment) graph.Value {
	var from []int // of a string's first position
	positions := 0
	for _, s := range l.Strings {
		from, positions = append(from, positions), positions+len(s)
	}
	m := make([]float64, (3*positions+1)*len(all))
	for z, x := range all {
		for j, state := range x.states {
			m[(state*positions+from[x.word]+j)*len(all)+z] = 1
		}
		m[3*positions*len(all)+z] = math.Log(l.P[x.word])
	}
	return doubles(b, m, int64(3*positions+1), int64(len(all)))
}

// missing are the speeds missing in each gap of an alignment: [Z, longest+1].
func (l *Law) missing(b *graph.Builder, all []alignment, longest int) graph.Value {
	m := make([]float64, len(all)*(longest+1))
	for z, x := range all {
		copy(m[z*(longest+1):], x.Speeds)
	}
	return doubles(b, m, int64(len(all)), int64(longest+1))
}

// opening are the speeds with which an alignment's masks become tokens: [Z, longest V].
func (l *Law) opening(b *graph.Builder, all []alignment, longest int) graph.Value {
	m := make([]float64, len(all)*longest*l.V)
	for z, x := range all {
		for i, j := range x.From {
			if x.states[j] == insertion.Masked {
				m[(z*longest+i)*l.V+int(l.Strings[x.word][j])] = speed(l.BUm, x.word, j)
			}
		}
	}
	return doubles(b, m, int64(len(all)), int64(longest*l.V))
}

func doubles(b *graph.Builder, v []float64, dims ...int64) graph.Value {
	t := &graph.Tensor{Type: graph.Float64, Dims: dims}
	for _, x := range v {
		t.Raw = binary.LittleEndian.AppendUint64(t.Raw, math.Float64bits(x))
	}
	return b.Constant(t)
}
