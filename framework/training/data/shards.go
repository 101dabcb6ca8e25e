package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// openShards maps a prepared directory.
func openShards(s *Spec, o Options) (*Data, error) {
	name := filepath.Join(s.Prepared, indexName)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(name, text)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Prepared, tokenizerName)
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; prepare the data again", err)
	}
	v, err := newVocabulary(path, file)
	if err != nil {
		return nil, err
	}
	v.path = path
	if err := x.agrees(s, v, o); err != nil {
		return nil, err
	}
	d := &Data{Spec: x.Spec, Vocabulary: v, dir: s.Prepared}
	d.Spec.Prepared, d.Spec.Shuffle = s.Prepared, s.Shuffle
	known := map[string][]byte{}
	if d.Train, err = d.open(x, x.Train, "train", known); err == nil && x.Valid != nil {
		d.Valid, err = d.open(x, x.Valid, "valid", known)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for i, set := range []*Dataset{d.Train, d.Valid} {
		if set == nil {
			continue
		}
		if set.Packed() && s.Length > 0 { // a stream is cut anew
			set.length = s.Length
			d.Spec.Length = s.Length
		}
		if err := set.enough([]string{"train", "valid"}[i]); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// agrees compares the index with its tokenizer, and with what the spec and the model want.
func (x *index) agrees(s *Spec, v *Vocabulary, o Options) error {
	if v.Digest() != x.Tokenizer || v.Size() != x.Vocabulary {
		return fmt.Errorf("%s: tokenizer.json has sha256 %s, the data was prepared with %s; copy the directory again, or prepare the data again", s.Prepared, v.Digest(), x.Tokenizer)
	}
	if o.Tokenizer != nil {
		if m := (&Vocabulary{JSON: o.Tokenizer}); m.Digest() != x.Tokenizer {
			return fmt.Errorf("%s: was prepared with a tokenizer.json of sha256 %s, the model's has %s: their ids differ; prepare the data with the model's", s.Prepared, x.Tokenizer, m.Digest())
		}
	}
	return x.same(s, o.given(s))
}

// same refuses settings that somebody gave and that are not those that the rows were made with. The error is of type [Problems].
func (x *index) same(s *Spec, given func(key string) bool) error {
	var problems Problems
	is, was := reflect.ValueOf(s.absolute()), reflect.ValueOf(x.Spec)
	for i := range is.NumField() {
		f := is.Type().Field(i)
		key := "data." + f.Tag.Get("koanf")
		switch {
		case f.Tag.Get("json") == "-" || !given(key):
		case key == "data.length" && (s.Length == 0 || x.Spec.Layout == Packed): // a stream is cut anew
		case shown(is.Field(i)) != shown(was.Field(i)):
			problems = append(problems, Problem{key, fmt.Sprintf("is %s, but the rows in %s were prepared with %s; leave it out, or prepare the data again", shown(is.Field(i)), s.Prepared, shown(was.Field(i)))})
		}
	}
	if problems == nil {
		return nil
	}
	return problems
}

// shown is a value of a spec as JSON, lists of nothing as [].
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return "[]"
	}
	text, _ := json.Marshal(v.Interface()) // texts, numbers, lists of texts: never an error
	return string(text)
}

// open maps the shards of a set. Both sets may share some, which known holds.
func (d *Data) open(x *index, s *indexSet, name string, known map[string][]byte) (*Dataset, error) {
	out := &Dataset{shape: x.shape(), name: filepath.Join(d.dir, name), per: x.RecordsPerShard, first: s.First, records: s.Records, counts: s.Counts, sources: s.Sources}
	for _, f := range s.Shards {
		b, ok := known[f.Name]
		if !ok {
			path := filepath.Join(d.dir, f.Name)
			info, err := os.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("%w; copy the directory again, or prepare the data again", err)
			}
			if info.Size() != f.Bytes {
				return nil, fmt.Errorf("%s: has %d bytes, expected %d: it is damaged; copy the directory again, or prepare the data again", path, info.Size(), f.Bytes)
			}
			var unmap func() error
			if b, unmap, err = mapFile(path, f.Bytes); err != nil {
				return nil, fmt.Errorf("%s: %w", path, plain(err))
			}
			d.unmap, d.shards, known[f.Name] = append(d.unmap, unmap), append(d.shards, f), b
		}
		out.segments = append(out.segments, b)
	}
	return out, nil
}

// Verify compares every byte of mapped shards with the digests in their index; data in memory is always well. The error
// lists every shard that differs.
func (d *Data) Verify(ctx context.Context) error {
	var problems []error
	for _, s := range d.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(d.dir, s.Name)
		if got, err := digest(path); err != nil {
			problems = append(problems, err)
		} else if got != s.SHA256 {
			problems = append(problems, fmt.Errorf("%s: sha256 is %s, expected %s: it is damaged; copy the directory again, or prepare the data again", path, got, s.SHA256))
		}
	}
	return errors.Join(problems...)
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
