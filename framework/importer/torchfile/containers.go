package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"
)

// zipped reads the newer form: an archive with data.pkl, and each storage, uncompressed, in data/KEY.
func zipped(data []byte) ([]entry, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("is cut off or no archive: %w", err)
	}
	files := map[string]*zip.File{}
	root := ""
	for _, f := range z.File {
		files[f.Name] = f
		if path.Base(f.Name) == "data.pkl" {
			root = strings.TrimSuffix(f.Name, "data.pkl")
		}
		if path.Base(f.Name) == "constants.pkl" {
			return nil, errors.New("is a TorchScript program")
		}
	}
	content := func(name string) ([]byte, error) {
		f := files[root+name]
		if f == nil {
			return nil, fmt.Errorf("has no %s in its archive", name)
		}
		at, err := f.DataOffset()
		if err != nil || f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 || at < 0 || at > int64(len(data)) || f.UncompressedSize64 > uint64(int64(len(data))-at) {
			return nil, errors.Join(fmt.Errorf("has %s compressed or cut off in its archive", name), err)
		}
		end := at + int64(f.UncompressedSize64)
		return data[at:end:end], nil
	}
	if order, err := content("byteorder"); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("has elements in %q byte order", order)
	}
	text, err := content("data.pkl")
	if err != nil {
		return nil, err
	}
	known := map[string]*storage{}
	find := func(key string, s *storage) (*storage, error) {
		if k := known[key]; k != nil {
			return k, nil
		}
		var err error
		if s.data, err = content("data/" + key); err != nil {
			return nil, err
		}
		if int64(len(s.data)) != s.count*s.dtype.Size() {
			return nil, fmt.Errorf("has %d bytes in data/%s, expected %d elements %s", len(s.data), key, s.count, s.dtype)
		}
		known[key] = s
		return s, nil
	}
	value, _, err := unpickle(text, find)
	if err != nil {
		return nil, err
	}
	return entries(value)
}

// magic begins files of the older form.
const magic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"

// legacy reads the older form: pickles of a magic number, a version, the writer's sizes, the state dictionary and the keys of storages, then
// each storage as its number of elements and the elements.
func legacy(data []byte) ([]entry, error) {
	if len(data) < 15 || data[0] != 0x80 || !bytes.HasPrefix(data[2:], []byte(magic)) {
		return nil, errors.New("is no file of PyTorch's")
	}
	rest := data
	next := func(find finder) (value any, err error) {
		value, n, err := unpickle(rest, find)
		rest = rest[n:]
		return value, err
	}
	for _, want := range []any{nil, int64(1001), nil} { // the number, the version, the writer
		value, err := next(nil)
		if err != nil {
			return nil, err
		}
		if want != nil && value != want {
			return nil, fmt.Errorf("is of version %v of PyTorch's format, expected %v", value, want)
		}
		if about, ok := value.(*dict); ok && about.get("little_endian") == false {
			return nil, errors.New("has elements of a big-endian machine")
		}
	}
	known := map[string]*storage{}
	value, err := next(func(key string, s *storage) (*storage, error) {
		if known[key] == nil {
			known[key] = s
		}
		return known[key], nil
	})
	if err != nil {
		return nil, err
	}
	keys, err := next(nil)
	if err != nil {
		return nil, err
	}
	list, ok := keys.(*list)
	if !ok {
		return nil, errors.New("has no list of storages")
	}
	for _, key := range list.values {
		name, _ := key.(string)
		s := known[name]
		if s == nil || s.data != nil || len(rest) < 8 || int64(binary.LittleEndian.Uint64(rest)) != s.count || s.count > int64(len(rest)-8)/s.dtype.Size() {
			return nil, fmt.Errorf("is cut off or damaged at its storage %q", name)
		}
		n := s.count * s.dtype.Size()
		s.data, rest = rest[8:8+n:8+n], rest[8+n:]
	}
	for key, s := range known {
		if s.data == nil {
			return nil, fmt.Errorf("lacks its storage %q", key)
		}
	}
	return entries(value)
}
