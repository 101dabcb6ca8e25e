package importer_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

const rxnfpBERT = "../../../shared/models/rxnfp-bert"

// rxnfp names the folder bert_pretrained of the wheel rxnfp 0.1.0 (75 MB, which tests do not download): `pip download --no-deps rxnfp==0.1.0`, unzip, and
// go test ./framework/importer -run Rxnfp -rxnfp DIR. With -update it writes the digests of the imported parameters to testdata/rxnfp.json.
var (
	rxnfp  = flag.String("rxnfp", "", "`folder` bert_pretrained of the wheel rxnfp 0.1.0")
	update = flag.Bool("update", false, "write testdata/rxnfp.json")
)

// The network of the ONNX file that others exported has, bit by bit, the parameters that are imported from the checkpoint that it was exported from, whose
// digests are in testdata/rxnfp.json; with the checkpoint at hand, the import itself and its logits are compared, too.
func TestRxnfp(t *testing.T) {
	theirs, err := model.Open(rxnfpBERT)
	if err != nil {
		t.Fatal(err)
	}
	if *rxnfp != "" {
		fromCheckpoint(t, theirs)
	}
	text, err := os.ReadFile("testdata/rxnfp.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	s, err := exporters.Open(t.Context(), rxnfpBERT)
	if err != nil || s.Why != nil {
		t.Fatal(err, s.Why)
	}
	if diff := cmp.Diff(want, digests(s.Values)); diff != "" || len(want) != 202 {
		t.Errorf("%d parameters, which differ from those of the checkpoint: %s", len(want), diff)
	}
}

func fromCheckpoint(t *testing.T, theirs *model.Model) {
	t.Helper()
	out := t.TempDir()
	if _, err := importer.Import(t.Context(), *rxnfp, out, importer.Options{Tokenizer: rxnfpBERT + "/tokenizer.json", Version: "test"}); err != nil {
		t.Fatal(err)
	}
	ours, err := model.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	const rows, length = 4, 40
	ids, mask := make([]int64, rows*length), make([]int64, rows*length)
	for i := range ids {
		if ids[i] = int64(15 + i*53%560); i%4 == 1 {
			ids[i] = 14
		}
		if i%length < length-i/length*5 {
			mask[i] = 1
		}
	}
	want, got := logits(t, theirs, ids, mask, rows), logits(t, ours, ids, mask, rows)
	worst := 0.0
	for i := range want {
		if mask[i/ours.V] == 1 {
			worst = max(worst, math.Abs(float64(want[i]-got[i])))
		}
	}
	t.Logf("largest difference of a logit to models/rxnfp-bert: %.3g", worst)
	if !(worst <= 1e-4) {
		t.Errorf("logits differ by %g", worst)
	}
	_, values, err := network.From(ours)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		b, err := json.MarshalIndent(digests(values), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/rxnfp.json", append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func digests(values network.Values) map[string]string {
	out := map[string]string{}
	for name, v := range values {
		sum := sha256.Sum256(safetensors.Of(name, []int64{int64(len(v))}, v).Data)
		out[name] = hex.EncodeToString(sum[:16])
	}
	return out
}
