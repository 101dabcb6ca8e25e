//go:build !tokenizers

package tokenizer

// foreign would read the file with the Rust library, which this build does not have.
func foreign(_ *file, _ *base, _ []byte, lacks *unsupported) (Tokenizer, error) { return nil, lacks }
