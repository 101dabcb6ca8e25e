package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// reserved is the key of the header that is no tensor.
const reserved = "__metadata__"

// maxHeader is the format's limit on the header, in bytes.
const maxHeader = 100_000_000

// entry is what the header says of one tensor.
type entry struct {
	name       string
	dtype      DType
	shape      []int64
	begin, end int64 // in the bytes after the header
}

// split returns the header's JSON text and the bytes after it.
func split(file []byte) (header, data []byte, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("is %d bytes long, expected a safetensors file; copy it again", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	switch {
	case bytes.HasPrefix(file, []byte("version https://git-lfs")):
		return nil, nil, errors.New("is a Git LFS pointer, not the file itself; run `git lfs pull`")
	case n > maxHeader:
		return nil, nil, fmt.Errorf("begins with a header of %d bytes, expected at most %d: it is no safetensors file", n, maxHeader)
	case n > uint64(len(file)-8):
		return nil, nil, fmt.Errorf("has a header of %d bytes, but %d bytes follow: the file was cut off; copy it again", n, len(file)-8)
	}
	header, data = file[8:8+n], file[8+n:]
	if !bytes.HasPrefix(header, []byte("{")) {
		return nil, nil, errors.New("has a header that does not begin with {: it is no safetensors file")
	}
	if !utf8.Valid(header) {
		return nil, nil, errors.New("has a header that is not UTF-8; write the file again")
	}
	return header, data, nil
}

// decode reads the header's JSON text. Other than encoding/json it refuses names that stand twice.
func decode(text []byte) (entries []entry, metadata map[string]string, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	err = object(d, func(name string) error {
		if name == reserved {
			metadata = map[string]string{}
			return object(d, func(key string) error {
				var value string
				err := d.Decode(&value)
				metadata[key] = value
				return err
			})
		}
		e := entry{name: name}
		var offsets []int64
		var err error
		if err := object(d, func(key string) error {
			switch key {
			case "dtype":
				return d.Decode(&e.dtype)
			case "shape":
				e.shape, err = numbers(d)
				return err
			case "data_offsets":
				offsets, err = numbers(d)
				return err
			}
			return d.Decode(new(json.RawMessage)) // the format lets later versions add more
		}); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if e.dtype == "" || e.shape == nil || len(offsets) != 2 {
			return fmt.Errorf("tensor %q: expected dtype, shape and two data_offsets", name)
		}
		e.begin, e.end = offsets[0], offsets[1]
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w; write the file again", err)
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, nil, errors.New("header: has text after the end of its JSON object; write the file again")
	}
	return entries, metadata, nil
}

// object reads a JSON object; each reads the value that follows a key.
func object(d *json.Decoder, each func(key string) error) error {
	if t, err := d.Token(); err != nil {
		return ended(err)
	} else if t != json.Delim('{') {
		return fmt.Errorf("found %v, expected a JSON object", t)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return ended(err)
		}
		key := t.(string) // the decoder accepts nothing else here
		if seen[key] {
			return fmt.Errorf("%q stands there twice", key)
		}
		seen[key] = true
		if err := each(key); err != nil {
			return ended(err)
		}
	}
	_, err := d.Token()
	return ended(err)
}

// maxRank bounds the dimensions of a tensor, far above real ones: a header must not make a reader take much memory.
const maxRank = 64

// numbers reads a short list of integers.
func numbers(d *json.Decoder) ([]int64, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.Join(fmt.Errorf("found %v, expected a list of integers", t), err)
	}
	out := []int64{}
	for d.More() {
		var n int64
		if err := d.Decode(&n); err != nil {
			return nil, err
		}
		if out = append(out, n); len(out) > maxRank {
			return nil, fmt.Errorf("has more than %d dimensions", maxRank)
		}
	}
	_, err := d.Token()
	return out, err
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// place cuts the data into tensors, in the order of the data. They must cover it: no holes, no overlaps, nothing after
// the last, so that a file has one meaning and hides nothing.
func place(entries []entry, data []byte) ([]Tensor, error) {
	slices.SortStableFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			return int(min(1, max(-1, a.begin-b.begin)))
		}
		return int(min(1, max(-1, a.end-b.end)))
	})
	tensors := make([]Tensor, len(entries))
	at := int64(0)
	for i, e := range entries {
		switch {
		case e.begin < 0 || e.end < e.begin:
			return nil, fmt.Errorf("tensor %q: has data_offsets [%d, %d], expected a begin from 0 on and an end not before it", e.name, e.begin, e.end)
		case e.end > int64(len(data)):
			return nil, fmt.Errorf("tensor %q: ends at byte %d of the data, which has %d: the file was cut off; copy it again", e.name, e.end, len(data))
		case e.begin < at:
			return nil, fmt.Errorf("tensor %q: begins at byte %d of the data, inside of tensor %q, which ends at %d; write the file again", e.name, e.begin, entries[i-1].name, at)
		case e.begin > at:
			return nil, fmt.Errorf("tensor %q: begins at byte %d of the data, %d bytes after the tensor before it; write the file without holes", e.name, e.begin, e.begin-at)
		}
		tensors[i] = Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Data: data[e.begin:e.end:e.end]}
		if err := tensors[i].check(); err != nil {
			return nil, err
		}
		at = e.end
	}
	if at != int64(len(data)) {
		return nil, fmt.Errorf("has %d bytes after its last tensor; write the file again", int64(len(data))-at)
	}
	return tensors, nil
}
