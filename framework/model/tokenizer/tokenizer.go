// Package tokenizer turns text into token ids and back, as tokenizer.json files of the Hugging Face format say.
//
// Vocabularies of whole words, characters, symbols and bytes (model type WordLevel) are read in pure Go. The other model
// types (WordPiece, BPE, Unigram) and exotic pre-tokenizers need the Rust library of Hugging Face, which the build tag
// "tokenizers" links in. Pure Go is preferred where it suffices, so that results do not depend on the tag.
package tokenizer

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/model/internal/jsonfile"
)

// Tokenizer maps text to token ids and back. Implementations are safe for concurrent use.
type Tokenizer interface {
	// Encode returns the ids of a text. Special tokens that the text spells out become their ids. With special, the
	// ids that the post-processor puts around a text are added. Text that is not UTF-8 is an error; truncation and
	// padding of the file are not applied: rows are padded and checked elsewhere.
	Encode(text string, special bool) ([]int32, error)
	// Decode returns the text of a row, without special tokens if skipSpecial is set. Ids without a token are left out.
	Decode(ids []int32, skipSpecial bool) string
	// Token returns the spelling of one id as the vocabulary has it, or "" for an id without a token.
	Token(id int32) string
	// ID returns the id of a token's exact spelling.
	ID(token string) (int32, bool)
	// Size is the highest id plus 1; ids may have holes.
	Size() int
	// Special tells whether Decode leaves the id out with skipSpecial.
	Special(id int32) bool
	// Mask returns the id of the token that is spelt like a mask ("[MASK]", "<mask>", "<|mask|>"), if there is exactly one.
	Mask() (int32, bool)
	// Unknown returns the id that stands for text that the vocabulary lacks, if there is one.
	Unknown() (int32, bool)
	// Added tells whether the token is an added one, which Encode finds in a text before anything is split.
	Added(id int32) bool
	// Template returns the ids that the post-processor puts before and after a text.
	Template() (prefix, suffix []int32)
	// Kind is the model type of the file, such as "WordLevel".
	Kind() string
}

// Parse reads a tokenizer.json. name is what errors call the file. A file of a kind that this build cannot serve is an
// error that says how to build one that can.
func Parse(name string, data []byte) (Tokenizer, error) {
	f, b, err := read(name, data)
	if err != nil {
		return nil, err
	}
	t, err := newWordLevel(f, b)
	if lacks, ok := err.(*unsupported); ok {
		t, err = foreign(f, b, data, lacks)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func read(name string, data []byte) (*file, *base, error) {
	f := &file{}
	if err := jsonfile.Decode(name, data, f); err != nil {
		return nil, nil, err
	}
	b, err := f.base()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, b, nil
}

// unsupported is the error of a feature that pure Go does not have.
type unsupported struct{ what string }

func (u *unsupported) Error() string {
	return u.what + " is not read by this build; run `just build`, which links the Rust tokenizers (build tag `tokenizers`)"
}

func lacking(format string, args ...any) error { return &unsupported{fmt.Sprintf(format, args...)} }
