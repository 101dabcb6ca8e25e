//go:build !unix

package safetensors

import (
	"io"
	"os"
)

func mapping(f *os.File, _ int64) (data []byte, unmap func() error, err error) {
	data, err = io.ReadAll(f)
	return data, func() error { return nil }, err
}
