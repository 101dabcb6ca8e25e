package training

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// Feeds is feeds.json of [WriteFeeds].
type Feeds struct {
	About      any                  `json:"about"`
	Rows       int                  `json:"rows"`
	Length     int                  `json:"length"`
	Passes     int                  `json:"passes"`
	EvalRows   int                  `json:"eval_rows"`   // of all evaluation passes; the last one may have more, which do not count
	EvalPasses int                  `json:"eval_passes"` // 0: no validation set
	Rates      []float64            `json:"rates"`       // learning rate of each step
	Clip       float64              `json:"clip"`
	Adam       artifact.AdamW       `json:"adam"`
	Parameters []artifact.Parameter `json:"parameters"`
}

// WriteFeeds writes down what a run begins with, what its passes are fed and what its evaluation is, so that the same training
// can be done in another framework: feeds.json (see [Feeds]; about is kept in it), params.f32 [P], and for every input
// train.NAME.TYPE [passes, shape...] and, where there is a validation set, eval.NAME.TYPE. Types are i64, f32 and u8 (booleans),
// little-endian. dir must not be there yet.
func WriteFeeds(dir string, about any, o Options, p Parts) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("feeds %s: %w", dir, err)
		}
	}()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	m, r := &p.Set.Manifest, &run{Options: o, Parts: p}
	f := Feeds{About: about, Rows: m.Rows, Length: m.Length, Passes: int(o.Steps) * o.Accumulate, Clip: o.Clip, Adam: m.Adam, Parameters: m.Parameters}
	for step := range o.Steps {
		f.Rates = append(f.Rates, o.Rate.At(step+1, o.Steps))
	}
	order := data.InOrder
	if o.Shuffle {
		order = data.Random
	}
	in := newRecorder(m, m.Rows)
	fill, err := newFeeding(in, m, m.Training, m.Rows, &data.Loader{Data: p.Train, Order: order, Seed: o.Seed}, o.Seed)
	if err != nil {
		return err
	}
	if err := in.record(filepath.Join(dir, "train"), fill, f.Passes, func(n int) pass { return r.passAt(int64(n)) }); err != nil {
		return err
	}
	if p.Valid != nil {
		f.EvalRows = min(o.EvalRows, p.Valid.Rows())
		f.EvalPasses = (f.EvalRows + m.EvalRows - 1) / m.EvalRows
		in = newRecorder(m, m.EvalRows)
		if fill, err = newFeeding(in, m, m.Eval, m.EvalRows, &data.Loader{Data: p.Valid, Order: data.Once, Seed: o.Seed}, o.Seed); err != nil {
			return err
		}
		draw := Draw{Rows: f.EvalRows, Seed: o.Seed}
		turn := draw.turn()
		if err := in.record(filepath.Join(dir, "eval"), fill, f.EvalPasses, func(n int) pass { return draw.passAt(n*m.EvalRows, turn) }); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(writeNumbers(filepath.Join(dir, "params.f32"), p.Initial.Params), os.WriteFile(filepath.Join(dir, "feeds.json"), text, 0o644))
}

func writeNumbers(path string, v any) error {
	raw, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}

// recorder is memory for inputs outside of any runtime, from which they go to files.
type recorder struct {
	sizes map[string]int
	asked map[string]any // slices by file name
}

func newRecorder(m *artifact.Manifest, rows int) *recorder {
	b := &recorder{sizes: map[string]int{}, asked: map[string]any{}}
	for i := range m.Inputs {
		size := 1
		for _, d := range m.Inputs[i].Shape {
			n, err := strconv.Atoi(d)
			switch {
			case d == "B":
				n = rows
			case d == "L":
				n = m.Length
			case err != nil:
				n = 0 // no host fills such an input
			}
			size *= n
		}
		b.sizes[m.Inputs[i].Name] = size
	}
	return b
}

// record fills the inputs pass after pass and writes each to a file of its own.
func (b *recorder) record(prefix string, f *feeding, passes int, at func(int) pass) (err error) {
	files := map[string]*bufio.Writer{}
	for name := range b.asked {
		file, err := os.Create(prefix + "." + name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		files[name] = bufio.NewWriter(file)
	}
	for n := range passes {
		if _, _, err := f.fill(at(n)); err != nil {
			return err
		}
		for name, w := range files {
			if err := binary.Write(w, binary.LittleEndian, b.asked[name]); err != nil {
				return err
			}
		}
	}
	for _, w := range files {
		err = errors.Join(err, w.Flush())
	}
	return err
}

func asked[T any](b *recorder, name, ending string) ([]T, error) {
	v := make([]T, b.sizes[name])
	b.asked[name+ending] = v
	return v, nil
}

// Int64 implements [buffers].
func (b *recorder) Int64(name string) ([]int64, error) { return asked[int64](b, name, ".i64") }

// Float32 implements [buffers].
func (b *recorder) Float32(name string) ([]float32, error) { return asked[float32](b, name, ".f32") }

// Bool implements [buffers].
func (b *recorder) Bool(name string) ([]bool, error) { return asked[bool](b, name, ".u8") }
