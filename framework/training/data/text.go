package data

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// blockBytes is how much of a stream is handled at once.
const blockBytes = 64 << 10

// readText cuts a stream into blocks and calls block with each; line is the number of its first line. Blocks end after a
// line, or before a space, or at least between two characters: places where tokenizers cut anyway. The text is valid
// until block returns.
func readText(r io.Reader, block func(line int, text []byte) error) error {
	buf := make([]byte, 0, blockBytes)
	for line := 1; ; {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := err == io.EOF || err == io.ErrUnexpectedEOF // the reader's own errors are of other types
		if err != nil && !end {
			return err
		}
		cut := len(buf)
		if !end {
			cut = cutBlock(buf)
		}
		if cut > 0 {
			if err := block(line, buf[:cut]); err != nil {
				return err
			}
			line += bytes.Count(buf[:cut], []byte("\n"))
		}
		if end {
			return nil
		}
		buf = append(buf[:0], buf[cut:]...)
	}
}

// cutBlock says where a full block ends.
func cutBlock(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	if i := bytes.LastIndexByte(b, ' '); i > 0 {
		return i
	}
	for i := len(b) - 1; i >= max(1, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// errNotUTF8 is what bad lines of other encodings are told.
var errNotUTF8 = errors.New("expected UTF-8, found other bytes")
