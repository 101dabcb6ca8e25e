package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
)

// indexName is the file that describes a directory of shards.
const indexName = "index.json"

// indexVersion is the version of the format of index.json and shards.
const indexVersion = 2

// index is index.json.
type index struct {
	Version         int       `json:"mdmhost_data"` // of the format
	Spec            Spec      `json:"spec"`         // with absolute paths, and the format named
	DType           string    `json:"dtype"`        // uint16 or uint32, little-endian
	Fixed           bool      `json:"fixed"`
	Pad             int32     `json:"pad"`
	Vocabulary      int       `json:"vocabulary"`
	Tokenizer       string    `json:"tokenizer_sha256"`
	RecordsPerShard int64     `json:"records_per_shard"`
	Train           *indexSet `json:"train"`
	Valid           *indexSet `json:"valid,omitempty"`
}

// indexSet is a set: the records of its shards from First on.
type indexSet struct {
	First   int64   `json:"first"`
	Records int64   `json:"records"`
	Shards  []shard `json:"shards"`
	Counts  Counts  `json:"counts"`
	Sources []File  `json:"sources"`
}

type shard struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newIndex(s *Spec, v *Vocabulary, b *built, train, valid *Dataset) *index {
	w := b.train.writer
	x := &index{Version: indexVersion, Spec: s.absolute(), DType: map[int]string{2: "uint16", 4: "uint32"}[w.width], Fixed: w.fixed,
		Pad: w.pad, Vocabulary: w.size, Tokenizer: v.Digest(), RecordsPerShard: w.per, Train: train.indexSet(b.train)}
	x.Spec.Format, _ = s.kind()
	switch {
	case b.valid != nil:
		x.Valid = valid.indexSet(b.valid)
	case valid != nil: // the end of the same stream
		x.Valid = valid.indexSet(b.train)
	}
	return x
}

func (d *Dataset) indexSet(s *set) *indexSet {
	return &indexSet{d.first, d.records, s.out.(*shardFiles).done, d.counts, d.sources}
}

// parseIndex reads and checks an index. name stands in messages.
func parseIndex(name string, text []byte) (*index, error) {
	x := &index{}
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(x)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("expected nothing after the object")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; prepare the data again", name, err)
	}
	if x.Version != indexVersion {
		return nil, fmt.Errorf("%s: mdmhost_data: expected version %d of the format, found %d; prepare the data again with this mdmhost", name, indexVersion, x.Version)
	}
	if err := x.check(); err != nil {
		return nil, fmt.Errorf("%s: %w; prepare the data again", name, err)
	}
	return x, nil
}

func (x *index) check() error {
	switch {
	case x.DType != "uint16" && x.DType != "uint32":
		return fmt.Errorf("dtype: expected uint16 or uint32, found %q", x.DType)
	case x.Spec.Layout != Packed && x.Spec.Layout != Padded:
		return fmt.Errorf("layout: expected packed or padded, found %q", x.Spec.Layout)
	case x.Spec.Length < 1 || x.Spec.Length > maxLength:
		return fmt.Errorf("length: expected 1 to %d, found %d", maxLength, x.Spec.Length)
	case x.Vocabulary < 1 || x.Vocabulary > 1<<31 || x.DType == "uint16" && x.Vocabulary > 1<<16:
		return fmt.Errorf("vocabulary: expected ids of %s, found %d", x.DType, x.Vocabulary)
	case x.Pad < 0 || int(x.Pad) >= x.Vocabulary:
		return fmt.Errorf("pad: expected an id below %d, found %d", x.Vocabulary, x.Pad)
	case x.RecordsPerShard < 1 || x.RecordsPerShard > 1<<56/x.shape().bytes():
		return fmt.Errorf("records_per_shard: expected at least 1, found %d", x.RecordsPerShard)
	case x.Train == nil:
		return fmt.Errorf("train: expected a set, found none")
	}
	if err := x.Train.check(x); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if x.Valid == nil {
		return nil
	}
	if err := x.Valid.check(x); err != nil {
		return fmt.Errorf("valid: %w", err)
	}
	return nil
}

// check compares records and shards: all but the last are full.
func (s *indexSet) check(x *index) error {
	size := x.shape().bytes()
	full := x.RecordsPerShard * size
	var all int64
	for i, f := range s.Shards {
		switch {
		case f.Name == "" || f.Name != filepath.Base(f.Name) || !filepath.IsLocal(f.Name):
			return fmt.Errorf("shards: expected names of files in the directory, found %q", f.Name)
		case f.Bytes < size || f.Bytes > full || f.Bytes%size != 0, i < len(s.Shards)-1 && f.Bytes != full:
			return fmt.Errorf("shards: %s: expected whole records of %d bytes, %d to a shard, found %d bytes", f.Name, size, x.RecordsPerShard, f.Bytes)
		}
		if all += f.Bytes / size; all < 0 {
			return fmt.Errorf("shards: too many")
		}
	}
	if s.First < 0 || s.Records < 0 || s.First > all || s.Records > all-s.First {
		return fmt.Errorf("expected records within the %d of the shards, found %d from %d on", all, s.Records, s.First)
	}
	return nil
}

func (x *index) shape() shape {
	return shape{layout: x.Spec.Layout, length: x.Spec.Length, width: map[string]int{"uint16": 2, "uint32": 4}[x.DType], fixed: x.Fixed, size: x.Vocabulary, pad: x.Pad}
}
