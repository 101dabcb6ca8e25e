//go:build !unix

package data

import "os"

// mapFile reads the file: there is no mapping here.
func mapFile(path string, _ int64) (b []byte, unmap func() error, err error) {
	b, err = os.ReadFile(path)
	return b, func() error { return nil }, err
}
