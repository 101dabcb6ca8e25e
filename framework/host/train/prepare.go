package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// Prepared says what a directory of prepared data holds.
type Prepared struct {
	Dir        string       `json:"dir"`
	Bytes      int64        `json:"bytes"`
	Layout     string       `json:"layout"` // packed or padded
	Length     int          `json:"length"` // positions of a row
	Vocabulary int          `json:"vocabulary"`
	Tokenizer  string       `json:"tokenizer_sha256"`
	Train      PreparedSet  `json:"train"`
	Valid      *PreparedSet `json:"valid"` // null: none
}

// PreparedSet is one set of rows.
type PreparedSet struct {
	Rows    int         `json:"rows"` // of a packed stream: windows side by side
	Counts  data.Counts `json:"counts"`
	Sources []data.File `json:"sources"`
	Example string      `json:"example"` // the first row's text, an underline for each free position of rows with given ones
	Free    int         `json:"example_free"`
}

// Prepare reads the files of the section data and writes their rows to a new directory, which data.prepared names. progress
// goes to out.
func Prepare(ctx context.Context, cfg *config.Config, dir string, out Streams) (*Prepared, error) {
	bar := newMeter(out)
	defer bar.close()
	d, err := data.Prepare(ctx, cfg.Data, dir, data.Options{Progress: func(p data.Progress) { bar.at(p.Stage, p.Done, p.Total) }})
	if err != nil {
		return nil, settingProblems(cfg, err)
	}
	defer d.Close() //nolint:errcheck // only read
	return describeData(dir, d)
}

// Show says what a directory of prepared data holds; with verify every byte is compared with its digest.
func Show(ctx context.Context, dir string, verify bool) (*Prepared, error) {
	s := data.Defaults()
	s.Prepared = dir
	d, err := data.Open(ctx, s, data.Options{})
	if wrong := (data.Problems{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s: %s", dir, wrong[0].Text)
	}
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read
	if verify {
		if err := d.Verify(ctx); err != nil {
			return nil, err
		}
	}
	return describeData(dir, d)
}

func describeData(dir string, d *data.Data) (*Prepared, error) {
	p := &Prepared{Dir: dir, Layout: data.Padded, Length: d.Train.Length(), Vocabulary: d.Vocabulary.Size(), Tokenizer: d.Vocabulary.Digest()}
	if d.Train.Packed() {
		p.Layout = data.Packed
	}
	train, err := describeSet(d.Train, d.Vocabulary)
	if err != nil {
		return nil, err
	}
	p.Train = *train
	if d.Valid != nil {
		if p.Valid, err = describeSet(d.Valid, d.Vocabulary); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		p.Bytes += info.Size()
	}
	return p, nil
}

func describeSet(d *data.Dataset, v *data.Vocabulary) (*PreparedSet, error) {
	s := &PreparedSet{Rows: d.Rows(), Counts: d.Counts(), Sources: d.Sources()}
	return s, eachRow(d, 1, func(_ int, row line) error {
		s.Example, s.Free = v.Decode(row.tokens, true), len(targets(row.fixed))
		if s.Free == len(row.tokens) {
			return nil
		}
		var b strings.Builder // given positions alone
		for i, id := range row.tokens {
			switch {
			case !row.fixed[i]:
				b.WriteByte('_')
			case !v.Special(id):
				b.WriteString(v.Token(id))
			}
		}
		s.Example = b.String()
		return nil
	})
}
