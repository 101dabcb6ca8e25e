package transformers_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/transformers"
)

// used is what testdata/use.py prints.
type used struct {
	IDs       [][]int32      `json:"ids"`
	Special   map[string]any `json:"special"`
	DType     string         `json:"dtype"`
	AsFile    bool           `json:"as_file"`
	Losses    [2]float64     `json:"losses"`
	LossOff   float64        `json:"loss_off"`
	RoundTrip bool           `json:"round_trip"`
	AloneOff  float64        `json:"alone_off"`
	BFloat16  [2]float64     `json:"bfloat16_off"`
	Resized   int            `json:"resized"`
	SameRows  bool           `json:"same_rows"`
}

// Exports are opened, fine-tuned, saved, opened again and resized as people do, in either precision.
func TestExportsAreUsedAsTheirStackIsUsed(t *testing.T) {
	python := peers(t)
	for _, c := range []struct{ model, precision string }{{"text", exporters.FP32}, {"stars", exporters.FP16Weights}, {"molecule", exporters.FP16Weights}} {
		t.Run(c.model, func(t *testing.T) {
			s, err := exporters.Open(t.Context(), c.model)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := exporters.Export(t.Context(), transformers.New(), s, exporters.Options{Verify: exporters.VerifyOff, Precision: c.precision}, dir); err != nil {
				t.Fatal(err)
			}
			texts := map[string][]string{"text": {"It is a truth", "Well, 3 [MASK]!"}, "stars": {"ab>c", "[MASK]d"}, "molecule": {"CC(=O)Oc1ccccc1C(=O)O", "C[MASK]O.Br>>N"}}[c.model]
			var want [][]int32
			var lines bytes.Buffer
			for _, text := range texts {
				ids, err := s.Tokenizer.Encode(text, true)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, ids)
				lines.WriteString(text + "\n")
			}
			cmd := exec.CommandContext(t.Context(), python, "testdata/use.py", dir, filepath.Join(t.TempDir(), "saved"))
			cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+t.TempDir())
			cmd.Stdin = &lines
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &problems)
			}
			var got used
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(want, got.IDs); diff != "" {
				t.Errorf("ids (-mdmhost +AutoTokenizer):\n%s", diff)
			}
			id := func(id int32) any {
				if id < 0 {
					return nil
				}
				return float64(id)
			}
			special := map[string]any{"mask": id(s.MaskID), "pad": id(s.PadID), "bos": id(s.Model.Config.BOS), "eos": id(s.Model.Config.EOS)}
			if diff := cmp.Diff(special, got.Special); diff != "" {
				t.Errorf("special tokens (-mdmhost +AutoTokenizer):\n%s", diff)
			}
			switch {
			case got.DType != "torch.float32":
				t.Errorf("it computes in %s, expected single precision", got.DType)
			case !got.AsFile:
				t.Error("the parameters are not those of the file, under its names")
			case !(got.Losses[1] < 0.9*got.Losses[0]):
				t.Errorf("20 steps lead from a loss of %g to %g, expected it to fall by a tenth", got.Losses[0], got.Losses[1])
			case got.LossOff > 1e-5:
				t.Errorf("the loss is %g off the mean cross-entropy of the labels that are not -100", got.LossOff)
			case !got.RoundTrip:
				t.Error("parameters change when they are saved and opened again")
			case got.AloneOff > 1e-5:
				t.Errorf("model.py alone gives logits %g off those of transformers", got.AloneOff)
			case max(got.BFloat16[0], got.BFloat16[1]) > 0.1:
				t.Errorf("logits in bfloat16, and by autocast, are %v of their size off; expected a few hundredths", got.BFloat16)
			case got.Resized != 3 || !got.SameRows:
				t.Errorf("the logits are %d wider with three tokens more, and the others stay: %t; expected 3 and true", got.Resized, got.SameRows)
			}
			t.Logf("%+v", got)
		})
	}
}
