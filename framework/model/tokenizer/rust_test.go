//go:build tokenizers

package tokenizer

// ParseRust reads any file with the Rust library, for comparisons.
func ParseRust(name string, data []byte) (Tokenizer, error) {
	f, b, err := read(name, data)
	if err != nil {
		return nil, err
	}
	return foreign(f, b, data, nil)
}
