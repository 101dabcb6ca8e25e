package try

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
)

// Golden reads a compressed golden file; every field of it must have a place.
func Golden(t testing.TB, compressed []byte, into any) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(z)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// Units returns whole numbers of a unit as fractions.
func Units[F float32 | float64](n []int, unit F) []F {
	out := make([]F, len(n))
	for i, x := range n {
		out[i] = F(x) / unit
	}
	return out
}
