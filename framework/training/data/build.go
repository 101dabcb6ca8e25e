package data

import (
	"context"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// built is what came of the files of a spec.
type built struct {
	train, valid *set // valid may be nil
}

// set is one set of rows, not yet a [Dataset].
type set struct {
	*writer
	sources []File
}

// build reads the files and writes rows. open starts the segments of a set, of about size bytes each.
func build(ctx context.Context, s *Spec, o Options, v *Vocabulary, size int64, open func(name string) segments) (*built, error) {
	b := &builder{ctx: ctx, spec: s, options: o, encoder: newEncoder(v, s, o)}
	shape := newShape(s, b.encoder)
	start := func(name string) *set { return &set{writer: newWriter(shape, size, open(name))} }
	out := &built{train: start("train")}
	if len(s.Valid) > 0 || s.ValidFraction > 0 && s.Layout == Padded {
		out.valid = start("valid")
	}
	if err := b.read(s.Train, out.train, out.valid, s.ValidFraction); err != nil {
		return nil, err
	}
	if len(s.Valid) > 0 {
		if err := b.read(s.Valid, out.valid, nil, 0); err != nil {
			return nil, err
		}
	} else if out.valid != nil {
		out.valid.sources = out.train.sources
	}
	return out, nil
}

type builder struct {
	ctx     context.Context
	spec    *Spec
	options Options
	encoder *encoder
}

// read writes the rows of files to a set, and a fraction of padded ones to another.
func (b *builder) read(files []string, to, held *set, fraction float64) error {
	r, err := newReading(b.ctx, b.spec, "rows", files, b.options.Progress)
	if err != nil {
		return err
	}
	var long badLines
	to.sources, err = r.each(files, func(rec record) error {
		if b.spec.Layout == Packed {
			ids, err := b.encoder.stream(rec.text)
			if err != nil {
				return err
			}
			return to.stream(ids)
		}
		ids, fixed, err := b.encoder.row(rec)
		if err != nil {
			return err
		}
		if len(ids) > b.spec.Length {
			switch b.spec.TooLong {
			case Drop:
				to.counts.Dropped++
				return nil
			case Error:
				long.add(rec.file, rec.line, fmt.Sprintf("has %d tokens with special ones, expected at most %d", len(ids), b.spec.Length))
				return nil
			}
			ids, fixed = ids[:b.spec.Length], fixed[:min(len(fixed), b.spec.Length)]
			if fixed != nil && !slices.Contains(fixed, false) { // a prompt that fills the row
				to.counts.Dropped++
				return nil
			}
			to.counts.Truncated++
		}
		if fraction > 0 && held.holds(to.records+held.records, fraction) {
			return held.add(ids, fixed)
		}
		return to.add(ids, fixed)
	})
	if err != nil {
		return err
	}
	if b.spec.BadLines == Error {
		if err := r.bad.err(fixLines); err != nil {
			return err
		}
	}
	to.counts.Skipped, to.counts.Lines = r.bad.count, r.bad.first
	return long.err("raise data.length, or set data.too_long to drop or truncate")
}

// holds tells whether a row belongs to the validation part: a keyed hash of its number, the same in every run.
func (s *set) holds(row int64, fraction float64) bool {
	var u [1]float64
	sampling.Stream{}.Uniforms(u[:], row, 0, 0, purposeSplit)
	return u[0] < fraction
}

// datasets turns sets into data; bytes and names are those of a set's segments.
func (b *built) datasets(s *Spec, segments func(*set) [][]byte) (train, valid *Dataset, err error) {
	train = b.train.dataset("train", segments(b.train))
	if b.valid != nil {
		valid = b.valid.dataset("valid", segments(b.valid))
	} else if s.ValidFraction > 0 {
		train, valid = split(train, s.ValidFraction)
	}
	if err = train.enough("train"); err == nil && valid != nil {
		err = valid.enough("valid")
	}
	return train, valid, err
}

// split takes the end of a packed stream for validation.
func split(all *Dataset, fraction float64) (train, valid *Dataset) {
	cut := all.records - int64(fraction*float64(all.records))
	train, valid = all.part("train", 0, cut), all.part("valid", cut, all.records)
	valid.counts = Counts{Tokens: valid.records}
	return train, valid
}

func (s *set) dataset(name string, segments [][]byte) *Dataset {
	return &Dataset{shape: s.shape, name: name, per: s.per, segments: segments, records: s.records, counts: s.counts, sources: s.sources}
}
