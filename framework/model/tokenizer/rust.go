//go:build tokenizers

package tokenizer

// #cgo LDFLAGS: -L${SRCDIR}/../../../third_party/lib
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/daulet/tokenizers"
)

// rust encodes with the Rust library of Hugging Face. Vocabulary, template and the usual decoders are Go's, because the
// library's C interface neither lists tokens nor carries NUL bytes.
type rust struct {
	*base
	library *tokenizers.Tokenizer
}

// foreign reads a file whose kind pure Go lacks.
func foreign(f *file, b *base, data []byte, _ *unsupported) (Tokenizer, error) {
	if (b.kind == "WordLevel" || b.kind == "Unigram") && b.unknown < 0 { // the library would return nothing, and no error
		return nil, fmt.Errorf("model: a %s vocabulary without an unknown token cannot be served here; name one in the file", b.kind)
	}
	data, err := whole(f, data)
	if err != nil {
		return nil, err
	}
	library, err := tokenizers.FromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("the tokenizers library refuses it: %w", err)
	}
	r := &rust{base: b, library: library}
	runtime.AddCleanup(r, func(t *tokenizers.Tokenizer) { t.Close() }, library)
	return r, nil
}

// whole takes truncation and padding out of the file: rows are never cut in silence.
func whole(f *file, data []byte) ([]byte, error) {
	if f.Truncation == nil && f.Padding == nil {
		return data, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	delete(all, "truncation")
	delete(all, "padding")
	return json.Marshal(all)
}

// Encode implements [Tokenizer].
func (r *rust) Encode(text string, special bool) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("text: has a NUL byte, which this kind of tokenizer cannot take; remove it")
	}
	var ids []int32
	if text != "" {
		for _, id := range r.library.EncodeWithOptions(text, false).IDs {
			ids = append(ids, int32(id))
		}
	}
	runtime.KeepAlive(r)
	if special {
		return r.around(ids), nil
	}
	return ids, nil
}

// Decode implements [Tokenizer].
func (r *rust) Decode(ids []int32, skipSpecial bool) string {
	if r.decode != nil {
		return r.base.Decode(ids, skipSpecial)
	}
	given := make([]uint32, 0, len(ids))
	for _, id := range ids {
		if r.in(id) {
			given = append(given, uint32(id))
		}
	}
	text := r.library.Decode(given, skipSpecial)
	if text == "" { // a NUL in the text would end it: leave it out
		given = slices.DeleteFunc(given, func(id uint32) bool {
			return r.tokens[id] == "<0x00>" || strings.IndexByte(r.tokens[id], 0) >= 0
		})
		text = r.library.Decode(given, skipSpecial)
	}
	runtime.KeepAlive(r)
	return text
}
