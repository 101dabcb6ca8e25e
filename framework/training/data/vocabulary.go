package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// tokenizerName is the file of a tokenizer in a directory.
const tokenizerName = "tokenizer.json"

// fixLines ends messages about bad lines.
const fixLines = "correct what is listed, or leave bad lines out with data.bad_lines: skip"

// Vocabulary is the tokenizer of a run with its file.
type Vocabulary struct {
	tokenizer.Tokenizer
	JSON []byte // tokenizer.json
	Pad  int32  // fills rows up

	path string // of the file, or "" for one that was made or belongs to the model
}

// Digest is the sha256 of the file in hexadecimal.
func (v *Vocabulary) Digest() string {
	sum := sha256.Sum256(v.JSON)
	return hex.EncodeToString(sum[:])
}

// openVocabulary reads or makes the tokenizer of a spec.
func openVocabulary(ctx context.Context, s *Spec, o Options) (*Vocabulary, error) {
	switch {
	case o.Tokenizer != nil:
		return newVocabulary("the model's tokenizer.json", o.Tokenizer)
	case s.made():
		file, err := makeTokenizer(ctx, s, o)
		if err != nil {
			return nil, err
		}
		return newVocabulary("data.tokenizer "+s.Tokenizer, file)
	}
	name := s.Tokenizer
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, tokenizerName)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, notTokenizer(fmt.Errorf("%s: %w", name, plain(err)))
	}
	v, err := newVocabulary(name, file)
	if err != nil {
		return nil, notTokenizer(err)
	}
	v.path = name
	return v, nil
}

func notTokenizer(err error) error {
	return Problems{{"data.tokenizer", fmt.Sprintf("%v; expected characters, smiles or the path of a tokenizer.json", err)}}
}

// makeTokenizer reads the training data once to see its symbols.
func makeTokenizer(ctx context.Context, s *Spec, o Options) ([]byte, error) {
	b := tokenizer.NewCharacters()
	if s.Tokenizer == SMILES {
		b = tokenizer.NewSMILES()
	}
	r, err := newReading(ctx, s, "vocabulary", s.Train, o.Progress)
	if err != nil {
		return nil, err
	}
	_, err = r.each(s.Train, func(rec record) error {
		if err := b.Add(rec.text); err != nil {
			return unfit{err}
		}
		if s.PromptColumn != "" {
			if err := b.Add(rec.other); err != nil {
				return unfit{err}
			}
		}
		return nil
	})
	if err == nil && s.BadLines == Error {
		err = r.bad.err(fixLines)
	}
	if err != nil {
		return nil, err
	}
	file, err := b.File(s.BOS, s.EOS)
	if err != nil {
		return nil, fmt.Errorf("data.train: %w", err)
	}
	return file, nil
}

func newVocabulary(name string, file []byte) (*Vocabulary, error) {
	t, err := tokenizer.Parse(name, file)
	if err != nil {
		return nil, err
	}
	v := &Vocabulary{Tokenizer: t, JSON: file}
	if id, ok := padding(t); ok {
		v.Pad = id
	} else if mask, ok := t.Mask(); ok && mask == 0 { // any id but the mask does: padding never counts
		v.Pad = int32(min(1, t.Size()-1))
	}
	return v, nil
}

// padding finds the token that is spelt like one for padding.
func padding(t tokenizer.Tokenizer) (int32, bool) {
	for _, spelling := range []string{tokenizer.Pad, "<pad>", "<|pad|>", "<|padding|>"} {
		if id, ok := t.ID(spelling); ok {
			return id, true
		}
	}
	return 0, false
}
