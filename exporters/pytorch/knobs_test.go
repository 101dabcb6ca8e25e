package pytorch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// knobs is what testdata/knobs.py wrote with PyTorch, which continuous integration does without.
type knobs struct {
	SHA256   map[string]string // of the files that answered, below the repository
	Networks []struct {
		Name         string
		Config       json.RawMessage
		Shapes       map[string][]int64
		Rows, Length int
		Inputs       map[string][]float64
		Outputs      map[string][]float32
	}
}

// The answers of model.py are those of the files as they stand: whoever changes one writes the answers anew, with
// `./scripts/golden.sh PYTHON`, in an environment with PyTorch.
func TestAnswersAreOfTheseFiles(t *testing.T) {
	var golden knobs
	goldenfile.Read(t, "testdata/knobs.json.gz", &golden)
	if len(golden.SHA256) == 0 {
		t.Fatal("the golden file names no files")
	}
	for name, want := range golden.SHA256 {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s changed since testdata/knobs.py ran: run ./scripts/golden.sh PYTHON, and the tests with PEERS_PYTHON", name)
		}
	}
}

// ONNX Runtime gives the answers of model.py for networks with every key of config.json, whose parameters have the same names and shapes.
func TestModelPyAnswersAsONNXRuntime(t *testing.T) {
	var golden knobs
	goldenfile.Read(t, "testdata/knobs.json.gz", &golden)
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing is written
	for _, g := range golden.Networks {
		t.Run(g.Name, func(t *testing.T) {
			c, err := network.ParseConfig(g.Name, g.Config)
			if err != nil {
				t.Fatal(err)
			}
			shapes, values := map[string][]int64{}, network.Values{}
			for _, p := range network.Params(c) {
				shapes[p.Name], values[p.Name] = p.Shape, formula(p)
			}
			if diff := cmp.Diff(shapes, g.Shapes); diff != "" {
				t.Fatalf("parameters (-network +model.py):\n%s", diff)
			}
			m, err := network.Export(c, values, network.ExportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			names := slices.Sorted(maps.Keys(g.Outputs))
			p, err := d.NewProgram(t.Context(), onnx.Model{Name: g.Name, Data: m.Encode()},
				onnx.ProgramOptions{Outputs: names, Dims: map[string]int64{"B": int64(g.Rows), "L": int64(g.Length)}})
			if err != nil {
				t.Fatal(err)
			}
			feed, err := p.NewFeed()
			if err != nil {
				t.Fatal(err)
			}
			for name, numbers := range g.Inputs {
				if err := put(feed, name, numbers); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Run(t.Context(), feed); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				got, err := p.Output(name)
				if err != nil {
					t.Fatal(err)
				}
				near(t, name, g.Outputs[name], got)
			}
		})
	}
}

// put fills an input.
func put(feed *onnx.Feed, name string, numbers []float64) error {
	if name == "timesteps" {
		to, err := feed.Float32(name)
		if err != nil || len(to) != len(numbers) {
			return fmt.Errorf("%s: %d numbers for %d places, %w", name, len(numbers), len(to), err)
		}
		for i, x := range numbers {
			to[i] = float32(x)
		}
		return nil
	}
	to, err := feed.Int64(name)
	if err != nil || len(to) != len(numbers) {
		return fmt.Errorf("%s: %d numbers for %d places, %w", name, len(numbers), len(to), err)
	}
	for i, x := range numbers {
		to[i] = int64(x)
	}
	return nil
}

// near compares within 1e-4, of rates of their size.
func near(t *testing.T, name string, want, got []float32) {
	t.Helper()
	if len(want) != len(got) || len(want) == 0 {
		t.Fatalf("%s: %d numbers, want %d, and some", name, len(got), len(want))
	}
	worst := 0.0
	for i := range want {
		off := math.Abs(float64(want[i]) - float64(got[i]))
		if strings.HasSuffix(name, "_rate") {
			off /= max(1, math.Abs(float64(want[i])))
		}
		if !(off <= worst) {
			worst = off
		}
	}
	if !(worst <= 1e-4) {
		t.Errorf("%s: off by %g, want at most 1e-4", name, worst)
	}
	t.Logf("%s: off by %.2g", name, worst)
}

// formula gives weights as knobs.py does.
func formula(p network.Param) []float32 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(p.Name) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	scale, shift := 0.3, 0.0
	if len(p.Shape) == 2 {
		scale = math.Sqrt(3 / float64(p.Shape[1]))
	}
	if strings.HasSuffix(p.Name, "norm.weight") {
		shift = 1
	}
	values := make([]float32, p.Len())
	for i := range values {
		x := h + uint64(i)*0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		x ^= x >> 31
		values[i] = float32((float64(2*(x>>40)+1)/0x1p24-1)*scale + shift)
	}
	return values
}
