package targets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/targets"
)

// refused are the combinations that are no exports, with the alternative that their errors end with. All others are.
var refused = map[string]string{
	"gguf sudoku": "--to ", "gguf text": "--to ", "gguf molecule": "--to ", "gguf molecule-insertion": "--to ",
}

// answers are the targets that must be verified where the variable of their environment is set.
var answers = map[string]string{"onnx": "EXPORT_PYTHON", "safetensors": "EXPORT_PYTHON", "openvino": "EXPORT_PYTHON", "web": "PAGE_BROWSER", "transformers": "PEERS_PYTHON", "pytorch": "PEERS_PYTHON"}

// Every model is exported for every target, and verified where the stack is, or refused with an alternative.
func TestEveryTarget(t *testing.T) {
	if os.Getenv("EXPORT_PYTHON") == "" {
		t.Skip("EXPORT_PYTHON names no Python with the stacks; scripts/test-exports.sh runs this")
	}
	for _, name := range []string{"sudoku", "text", "molecule", "molecule-insertion"} {
		s, err := exporters.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets.All() {
			info := target.Info()
			t.Run(info.Name+" "+name, func(t *testing.T) {
				variable := answers[info.Name]
				o := exporters.Options{Verify: exporters.VerifyAuto, Browser: os.Getenv("PAGE_BROWSER"), Python: os.Getenv("EXPORT_PYTHON")}
				if os.Getenv("PEERS_PYTHON") != "" && variable == "PEERS_PYTHON" {
					o.Python = os.Getenv("PEERS_PYTHON")
				}
				if variable != "" && os.Getenv(variable) != "" {
					o.Verify = exporters.VerifyMust
				}
				out := filepath.Join(t.TempDir(), "out")
				r, err := exporters.Export(t.Context(), target, s, o, out)
				if want, not := refused[info.Name+" "+name]; not {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, expected one with an alternative, %q", err, want)
					}
					if _, err := os.Stat(out); !os.IsNotExist(err) {
						t.Errorf("something is left: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v %s", r.Verified.Verdict, r.Verified.Reason)
				if o.Verify == exporters.VerifyMust && r.Verified.Verdict == nil {
					t.Error("it is not verified")
				}
				if _, v, err := exporters.VerifyDir(out); err != nil || len(v.Checked) != len(r.Files) || len(v.Changed)+len(v.Missing)+len(v.Unlisted) > 0 {
					t.Errorf("%+v %v", v, err)
				}
			})
		}
	}
}

func TestFind(t *testing.T) {
	for _, target := range targets.All() {
		i := target.Info()
		if found, err := targets.Find(i.Name); err != nil || found.Info().Name != i.Name {
			t.Error(i.Name, err)
		}
		if i.Summary == "" || i.Stack == "" || len(i.Needs) == 0 || strings.Contains(i.Summary, "\n") {
			t.Errorf("%+v", i)
		}
	}
	if _, err := targets.Find("pytroch"); err == nil || err.Error() != `unknown target "pytroch"; did you mean pytorch?` {
		t.Error(err)
	}
}
