package transformers_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/exporters/transformers"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// written exports a model without verification.
func written(t *testing.T, target exporters.Target, name, precision string) (*exporters.Source, string) {
	t.Helper()
	s, err := exporters.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := exporters.Export(t.Context(), target, s, exporters.Options{Verify: exporters.VerifyOff, Precision: precision}, dir); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// Exports hold the source's network and parameters, as this program reads them, whatever is installed here.
func TestExportsHoldTheNetwork(t *testing.T) {
	for _, target := range []exporters.Target{pytorch.New(), transformers.New()} {
		for name, own := range map[string]string{"sudoku": "sample.py", "stars": "sample_insertion.py"} {
			t.Run(target.Info().Name+" "+name, func(t *testing.T) {
				s, dir := written(t, target, name, exporters.FP32)
				want := []string{"README.md", "config.json", "export.json", "generation_config.json", "mdm.json", "model.py", "model.safetensors", "tokenizer.json"}
				if target.Info().Name == "pytorch" {
					want = append(want, own, "denoiser.py", "noise.py", "rows.py", "train.py")
					if own == "sample.py" {
						want = append(want, "planners.py")
					}
				} else {
					want = append(want, "configuration_mdm.py", "modeling_mdm.py", "tokenizer_config.json")
				}
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range entries {
					got = append(got, e.Name())
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
				c, values, err := network.Load(dir)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(*s.Config, c); diff != "" {
					t.Errorf("config (-source +export):\n%s", diff)
				}
				if diff := cmp.Diff(s.Values, values); diff != "" {
					t.Errorf("parameters (-source +export):\n%s", diff)
				}
			})
		}
	}
}

// Matrices are in half precision with fp16-weights, vectors are not, and config.json tells readers to compute in single precision.
func TestHalfPrecisionIsOfMatricesOnly(t *testing.T) {
	_, dir := written(t, transformers.New(), "stars", exporters.FP16Weights)
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	for _, tensor := range f.Tensors() {
		want := safetensors.F32
		if len(tensor.Shape) > 1 {
			want = safetensors.F16
		}
		if tensor.DType != want {
			t.Errorf("%s %v is %s, expected %s", tensor.Name, tensor.Shape, tensor.DType, want)
		}
	}
	if got := object(t, dir, "config.json")["dtype"]; got != "float32" {
		t.Errorf("dtype is %v, expected float32", got)
	}
}

// The classes are found by auto_map, and the special tokens by name.
func TestClassesAndSpecialTokensAreNamed(t *testing.T) {
	for name, want := range map[string]map[string]any{
		"sudoku": {"AutoConfig": "configuration_mdm.MdmConfig", "AutoModelForMaskedLM": "modeling_mdm.MdmTransformerForMaskedLM"},
		"stars":  {"AutoConfig": "configuration_mdm.MdmConfig", "AutoModel": "modeling_mdm.MdmTransformerForInsertion"},
	} {
		_, dir := written(t, transformers.New(), name, exporters.FP32)
		if diff := cmp.Diff(want, object(t, dir, "config.json")["auto_map"]); diff != "" {
			t.Errorf("%s: auto_map (-want +got):\n%s", name, diff)
		}
		got := object(t, dir, "tokenizer_config.json")
		maps.DeleteFunc(got, func(key string, _ any) bool { return !strings.HasSuffix(key, "_token") })
		tokens := map[string]any{"mask_token": "[MASK]", "pad_token": "[PAD]"}
		if name == "stars" {
			tokens["eos_token"] = "[EOS]"
		}
		if diff := cmp.Diff(tokens, got); diff != "" {
			t.Errorf("%s: special tokens (-want +got):\n%s", name, diff)
		}
	}
}

// What the stacks cannot express is refused with the alternative.
func TestRefusalsNameTheAlternative(t *testing.T) {
	open := func() *exporters.Source {
		s, err := exporters.Open(t.Context(), "stars")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	planner, shifted := open(), open()
	config := *planner.Config
	config.Head = network.HeadKeep
	planner.Config = &config
	opened := *shifted.Model
	manifest := *opened.Manifest
	manifest.LogitsShift = 1
	opened.Manifest = &manifest
	shifted.Model = &opened
	for _, c := range []struct {
		s    *exporters.Source
		want string
	}{{planner, "--to safetensors"}, {shifted, "mdmhost import"}} {
		for _, target := range []exporters.Target{pytorch.New(), transformers.New()} {
			err := target.Check(c.s, exporters.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "model stars: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; expected an error about the model with %q", target.Info().Name, err, c.want)
			}
		}
	}
}

// object reads a JSON object of an export.
func object(t *testing.T, dir, name string) (out map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
