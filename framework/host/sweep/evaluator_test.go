package sweep

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script writes a program for the shell and returns the command that runs it.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "judge.sh")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sh " + path
}

func texts(all ...string) (rows []Row) {
	for i, text := range all {
		rows = append(rows, Row{Index: int64(i), Written: Written{Text: text}, Metrics: map[string]float64{"entropy": 1}})
	}
	return rows
}

func TestEvaluator(t *testing.T) {
	rows := texts("CCO", "<&>")
	if err := judge(t.Context(), script(t, `read a; read b
[ "$a" = '{"text":"CCO"}' ] && echo true
[ "$b" = '{"text":"<&>"}' ] && echo '{"valid": false, "qed": 0.25}'
`), rows); err != nil {
		t.Fatal(err)
	}
	want := []map[string]float64{{"entropy": 1, "valid": 1}, {"entropy": 1, "valid": 0, "qed": 0.25}}
	if diff := cmp.Diff(want, []map[string]float64{rows[0].Metrics, rows[1].Metrics}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"echo true":                                 "wrote 1 lines for 2 texts; expected one line for each",
		"echo 1; echo 2; echo 3":                    "wrote more than 2 lines",
		"echo true; echo yes":                       `line 2: `,
		"echo '\"yes\"'; echo 1":                    `line 1: valid: found yes; expected a number`,
		"echo '{\"unique\": 1}'; echo 1":            "line 1: unique: is a metric that mdmhost gives; call it otherwise",
		"echo '{}'; echo 1":                         "line 1: found nothing",
		"echo no such molecule toolkit >&2; exit 3": "exit status 3; run it by hand on a line such as {\"text\": \"CCO\"}\nno such molecule toolkit",
	} {
		if err := judge(t.Context(), script(t, text), texts("a", "b")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := judge(t.Context(), "", texts("a")); err != nil {
		t.Errorf("without an evaluator: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := judge(gone, script(t, "sleep 60"), texts("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Another evaluator's words replace those of the first.
func TestJudgedAnew(t *testing.T) {
	m := &Measured{Rows: texts("a")}
	for i, command := range []string{script(t, `echo '{"valid": 1, "qed": 2, "order": null}'`), script(t, "echo false"), ""} {
		if err := m.judge(t.Context(), command); err != nil {
			t.Fatal(err)
		}
		want := []map[string]float64{{"entropy": 1, "valid": 1, "qed": 2}, {"entropy": 1, "valid": 0}, {"entropy": 1}}[i]
		if diff := cmp.Diff(want, m.Rows[0].Metrics); diff != "" || m.Evaluator != command {
			t.Errorf("evaluator %q (-want +got):\n%s", m.Evaluator, diff)
		}
	}
}

func TestEntropy(t *testing.T) {
	for _, c := range []struct {
		tokens []int32
		want   float64
	}{{nil, 0}, {[]int32{5, 5, 5}, 0}, {[]int32{1, 2, 3, 4}, math.Log(4)}, {[]int32{1, 1, 2, 3}, 1.5 * math.Ln2}} {
		if got := Entropy(c.tokens); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("entropy of %v: %v, want %v nats", c.tokens, got, c.want)
		}
	}
}
