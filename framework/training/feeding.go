package training

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// buffers are the memory of a pass's inputs (onnx.Feed).
type buffers interface {
	Int64(name string) ([]int64, error)
	Float32(name string) ([]float32, error)
	Bool(name string) ([]bool, error)
}

// pass says which part of a run a feed is filled for. What is fed is a function of it and of the seed alone.
type pass struct {
	position int64   // rows of the data consumed before
	step     int64   // of the noise: the optimiser step, or 0 in evaluations
	row      int     // of the pass's first row in the global batch
	batch    int     // rows of the global batch
	turn     int     // by how many places the times of the batch are turned round
	done     float32 // share of the run
}

// Source fills batches with the rows from a position on; what is left of the batch gets rows of length 0. A [data.Loader] is one.
type Source interface {
	Fill(b *data.Batch, position int64) (rows int, err error)
}

// feeding fills the inputs of one feed: rows of data and the noise of each, by the inputs' kinds.
type feeding struct {
	source Source
	rows   data.Batch
	real   []int64 // attention_mask, or nil
	length int
	noise  []func(pass)
	masked []func(pass) // noise that depends on the rows
}

// newFeeding looks the buffers of the named inputs up. seed is that of the noise.
func newFeeding(b buffers, m *artifact.Manifest, names []string, rows int, source Source, seed uint64) (*feeding, error) {
	f := &feeding{source: source, length: m.Length, rows: data.Batch{
		Tokens: make([]int64, rows*m.Length), Lengths: make([]int64, rows), Free: make([]bool, rows*m.Length)}}
	for _, name := range names {
		i := slices.IndexFunc(m.Inputs, func(in artifact.Input) bool { return in.Name == name })
		if i < 0 {
			continue // filled by the run itself
		}
		if err := f.add(b, &m.Inputs[i], rows, seed); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *feeding) add(b buffers, in *artifact.Input, rows int, seed uint64) (err error) {
	switch spec.Kind(in.Kind) {
	case spec.Tokens:
		f.rows.Tokens, err = b.Int64(in.Name)
	case spec.Lengths:
		f.rows.Lengths, err = b.Int64(in.Name)
	case spec.AttentionMask:
		f.real, err = b.Int64(in.Name)
	case spec.Fixed:
		f.rows.Fixed, err = b.Bool(in.Name)
	case spec.Free:
		f.rows.Free, err = b.Bool(in.Name)
	case spec.Uniform:
		var to []float32
		to, err = b.Float32(in.Name)
		noise := diffusion.NewNoise(seed, in.Name)
		f.noise = append(f.noise, func(p pass) { noise.Uniform(to, p.step, p.row, len(to)/rows) })
	case spec.Time:
		var to []float32
		to, err = b.Float32(in.Name)
		noise, sampler, eps := diffusion.NewNoise(seed, in.Name), diffusion.TimeSampler(in.Sampler), in.Eps
		f.noise = append(f.noise, func(p pass) {
			if p.turn == 0 {
				noise.Time(to, p.step, p.row, p.batch, sampler, eps)
				return
			}
			for i := range to {
				noise.Time(to[i:i+1], p.step, (p.row+i+p.turn)%p.batch, p.batch, sampler, eps)
			}
		})
	case spec.Rank:
		var to []int64
		to, err = b.Int64(in.Name)
		noise, order := diffusion.NewNoise(seed, in.Name), make([]int, f.length)
		f.masked = append(f.masked, func(p pass) {
			diffusion.Ranks(noise, to, p.step, p.row, f.length)
			rankFree(to, f.rows.Free, order)
		})
	case spec.Step:
		var to []float32
		to, err = b.Float32(in.Name)
		f.noise = append(f.noise, func(p pass) { to[0] = float32(p.step) })
	case spec.Progress:
		var to []float32
		to, err = b.Float32(in.Name)
		f.noise = append(f.noise, func(p pass) { to[0] = p.done })
	default:
		err = fmt.Errorf("input %q: the kind %q is unknown; make the artifacts anew with this version", in.Name, in.Kind)
	}
	return err
}

// rankFree turns a permutation of all columns of each row into one of its free columns; the others get [spec.Unranked].
func rankFree(ranks []int64, free []bool, order []int) {
	length := len(order)
	for ; len(ranks) > 0; ranks, free = ranks[length:], free[length:] {
		for column, rank := range ranks[:length] {
			order[rank] = column
		}
		next := int64(0)
		for _, column := range order {
			if free[column] {
				ranks[column] = next
				next++
			} else {
				ranks[column] = spec.Unranked
			}
		}
	}
}

// fill fills the inputs for a pass and returns the number of rows and of free tokens in it.
func (f *feeding) fill(p pass) (rows int, tokens int64, err error) {
	if rows, err = f.source.Fill(&f.rows, p.position); err != nil {
		return 0, 0, err
	}
	for _, fill := range f.noise {
		fill(p)
	}
	for _, fill := range f.masked {
		fill(p)
	}
	for i := range f.real {
		f.real[i] = 0
		if int64(i%f.length) < f.rows.Lengths[i/f.length] {
			f.real[i] = 1
		}
	}
	for _, free := range f.rows.Free {
		if free {
			tokens++
		}
	}
	return rows, tokens, nil
}
