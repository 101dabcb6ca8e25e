package ortartifact_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/ortartifact"
)

// What the generator saved is what PyTorch had, to the bit.
func TestReadCheckpoint(t *testing.T) {
	var g artifacts
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	for name, want := range g.Models {
		c := readCheckpoint(t, name)
		if len(c.Trained)+len(c.Frozen) != len(want.Values) {
			t.Errorf("%s: %d parameters, want %d", name, len(c.Trained)+len(c.Frozen), len(want.Values))
		}
		for _, p := range c.Trained {
			w := want.Values[p.Name]
			for i, x := range numbers(p) {
				if float32(w[i]) != x {
					t.Fatalf("%s: %s[%d] is %g, want %g", name, p.Name, i, x, w[i])
				}
			}
		}
	}
}

func checkpointFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readCheckpoint(t testing.TB, name string) *ortartifact.Checkpoint {
	t.Helper()
	c, err := ortartifact.ReadCheckpoint(checkpointFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func numbers(t *graph.Tensor) []float32 {
	out := make([]float32, len(t.Raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:]))
	}
	return out
}

// Every truncation is an error.
func TestDamagedCheckpoint(t *testing.T) {
	b := checkpointFile(t, "gelu")
	for n := range len(b) - 8 { // the last bytes may be padding
		if _, err := ortartifact.ReadCheckpoint(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are read without an error", n, len(b))
		}
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	for _, name := range []string{"gelu", "swiglu"} {
		f.Add(checkpointFile(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ortartifact.ReadCheckpoint(b)
		if err != nil {
			return
		}
		for _, p := range append(c.Trained, c.Frozen...) {
			size := int64(1)
			for _, d := range p.Dims {
				size *= d
			}
			if p.Type == graph.Float32 && size*4 != int64(len(p.Raw)) || int64(len(p.Raw)) > int64(len(b)) {
				t.Errorf("%s: %v and %d bytes", p.Name, p.Dims, len(p.Raw))
			}
		}
	})
}
