package exporters_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Rows of references are answers of the file: every mask is opened once, by tokens that may be written.
func TestReference(t *testing.T) {
	for _, name := range []string{"sudoku", "text", "molecule-insertion", "rxnmapper-albert"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, name)
			r, err := s.Reference(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (r.InsertionRate != nil) != s.Insertion() || (r.Timesteps != nil) != s.Timesteps || len(r.Logits) != r.B*r.L*s.V || len(r.Logits) > 1<<22 {
				t.Errorf("B %d, L %d, V %d: %d logits", r.B, r.L, r.V, len(r.Logits))
			}
			masks := 0
			for i := range r.B {
				var order []int64
				for at := i * r.L; at < (i+1)*r.L; at++ {
					opened := r.Begin[at] == r.Mask
					_, never := slices.BinarySearch(r.Never, r.Written[at])
					switch {
					case opened && (never || r.AttentionMask[at] == 0 || !(r.Margin[at] >= 0 && r.Margin[at] <= 1)):
						t.Errorf("row %d, position %d: token %d with margin %g", i, at-i*r.L, r.Written[at], r.Margin[at])
					case !opened && (r.Written[at] != r.Begin[at] || r.Order[at] != -1 || !math.IsInf(float64(r.Margin[at]), 1)):
						t.Errorf("row %d, position %d: was not open, and became %d in pass %d", i, at-i*r.L, r.Written[at], r.Order[at])
					}
					if opened {
						order = append(order, r.Order[at])
					}
					if r.InputIDs[at] == r.Mask {
						masks++
					}
				}
				slices.Sort(order)
				for pass, n := range order {
					if int64(pass) != n {
						t.Fatalf("row %d: passes %v", i, order)
					}
				}
				if len(order) == 0 {
					t.Errorf("row %d has no mask", i)
				}
			}
			if masks == 0 {
				t.Error("no masks")
			}
			again, err := open(t, name).Reference(t.Context())
			if diff := cmp.Diff(r, again); diff != "" || err != nil {
				t.Errorf("other answers at the second time: %v %s", err, diff)
			}
			// The file of the reference holds all of it.
			path := filepath.Join(t.TempDir(), "r.safetensors")
			if err := r.WriteFile(path); err != nil {
				t.Fatal(err)
			}
			f, err := safetensors.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() //nolint:errcheck // only read
			logits, err := f.Tensor("logits")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := logits.Float32s(); !slices.Equal(got, r.Logits) || err != nil {
				t.Error("the file's logits differ", err)
			}
			if want := 8 + len(r.Timesteps)/max(len(r.Timesteps), 1) + len(r.InsertionRate)/max(len(r.InsertionRate), 1) + len(r.UnmaskRate)/max(len(r.UnmaskRate), 1); len(f.Tensors()) != want {
				t.Errorf("%d tensors, expected %d", len(f.Tensors()), want)
			}
		})
	}
}

// tiny is a model directory of a small network over 26 letters.
func tiny(t *testing.T, c network.Config, change func(network.Values)) string {
	t.Helper()
	b := tokenizer.NewCharacters()
	if err := b.Add("abcdefghijklmnopqrstuvwxyz "); err != nil {
		t.Fatal(err)
	}
	letters, err := b.File(false, false)
	if err != nil {
		t.Fatal(err)
	}
	c.HiddenSize, c.Layers, c.Heads, c.MaxPositions = 8, 1, 2, 40
	c = c.Filled()
	values := network.Initialise(c, 1)
	if change != nil {
		change(values)
	}
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := network.WriteModelDir(dir, network.ModelDir{Config: c, Values: values, Tokenizer: letters}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A model with the vocabulary of a large language model has a small reference.
func TestLargeVocabulary(t *testing.T) {
	r, err := open(t, tiny(t, network.Config{VocabSize: 126_000, Tied: true}, nil)).Reference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.B < 2 || r.L < 8 || r.B*r.L*r.V > 1<<22 {
		t.Errorf("%d rows of %d positions", r.B, r.L)
	}
}

func TestNaN(t *testing.T) {
	dir := tiny(t, network.Config{VocabSize: 29}, nil)
	path := filepath.Join(dir, "onnx", "model.onnx")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, tensor := range m.Graph.Graph.Initializers {
		if tensor.Name == "layers.0.mlp.up.weight" {
			at = bytes.Index(file, tensor.Raw)
		}
	}
	if at < 0 {
		t.Fatal("no such parameter in the file")
	}
	copy(file[at+8:], []byte{0, 0, 0xc0, 0x7f})
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = exporters.Open(t.Context(), dir)
	if want := `parameter "layers.0.mlp.up.weight": element 2 is NaN, expected a finite number; export an earlier checkpoint`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, expected %s", err, want)
	}
}

// A file of no family with a rule opens, and says why its network is not known.
func TestWithoutRule(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	config, err := m.ReadFile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "foreign")
	if err := os.CopyFS(dir, files(t, m, map[string][]byte{"config.json": bytes.Replace(config, []byte(`"albert"`), []byte(`"reformer"`), 1)})); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if s.Config != nil || s.Values != nil || s.Why == nil || !strings.Contains(s.Why.Error(), `"reformer"`) || !strings.HasSuffix(s.Why.Error(), "--to onnx") {
		t.Errorf("%v, why: %v", s.Config, s.Why)
	}
	if r, err := s.Reference(t.Context()); err != nil || len(r.Logits) == 0 {
		t.Error(err)
	}
}
