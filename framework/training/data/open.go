package data

import (
	"context"
	"errors"
	"reflect"
)

// Options of [Open] and [Prepare].
type Options struct {
	// Tokenizer is the tokenizer.json of the model that is trained, in the place of the spec's; nil: as the spec says.
	Tokenizer []byte
	// Refused are ids that no text may hold, such as the mask and the padding of the model, with what they are.
	Refused map[int32]string
	// Ends refuses texts that hold the tokens which the tokenizer puts around every text: where nothing but an end may look like one.
	Ends bool
	// Given tells whether somebody set a key such as data.layout, which then must agree with what data was prepared with; nil:
	// who did not leave it at its default.
	Given func(key string) bool
	// Progress is called now and then while files are read; nil: not.
	Progress func(Progress)
	// ShardBytes is about how large a shard becomes; 0: 256 MiB.
	ShardBytes int64

	disk disk // nil: the real one
}

// given is Given or what stands in its place.
func (o *Options) given(s *Spec) func(key string) bool {
	if o.Given != nil {
		return o.Given
	}
	is, defaults := reflect.ValueOf(*s), reflect.ValueOf(Defaults())
	changed := map[string]bool{}
	for i := range is.NumField() {
		changed["data."+is.Type().Field(i).Tag.Get("koanf")] = shown(is.Field(i)) != shown(defaults.Field(i))
	}
	return func(key string) bool { return changed[key] }
}

// Data is the training data of a run.
type Data struct {
	Spec       Spec // that the rows were made with, also if others prepared them
	Train      *Dataset
	Valid      *Dataset // nil: none
	Vocabulary *Vocabulary

	dir    string // of shards, or ""
	shards []shard
	unmap  []func() error
}

// Open reads the data of a spec into memory, or maps what [Prepare] wrote. Its errors are [Problems], a [BadLinesError], or
// name the file that failed. Close the data after use.
func Open(ctx context.Context, s Spec, o Options) (*Data, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Prepared != "" {
		return openShards(&s, o)
	}
	v, err := openVocabulary(ctx, &s, o)
	if err != nil {
		return nil, err
	}
	b, err := build(ctx, &s, o, v, memorySegment, func(string) segments { return &memory{} })
	if err != nil {
		return nil, err
	}
	d := &Data{Spec: s, Vocabulary: v}
	d.Train, d.Valid, err = b.datasets(&s, func(s *set) [][]byte { return s.out.(*memory).all })
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Close gives mapped shards back; the datasets must not be used after it.
func (d *Data) Close() error {
	var errs []error
	for _, f := range d.unmap {
		errs = append(errs, f())
	}
	d.unmap, d.Train, d.Valid = nil, nil, nil
	return errors.Join(errs...)
}
