package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/web"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
)

// Verify lets the browser answer, and its verdicts pass. Every kind of model in fp32 is in exporters/targets.
func TestVerify(t *testing.T) {
	needPackages(t)
	pagetest.Start(t) // skips where there is no browser
	for model, precision := range map[string]string{"molecule": exporters.FP16Weights, "stars": exporters.INT8} {
		s, err := exporters.Open(t.Context(), model)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), model)
		r, err := exporters.Export(t.Context(), web.New(), s, exporters.Options{Precision: precision, Verify: exporters.VerifyMust}, out)
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		v := r.Verified.Verdict
		t.Logf("%s %s: %v", model, precision, v)
		if !strings.HasPrefix(v.Stack, "ONNX Runtime Web 1.30.0 in Chromium") || v.Positions == 0 || v.Tokens == 0 {
			t.Errorf("%s: the verdict %+v says nothing of Chromium", model, *v)
		}
		if precision == exporters.FP16Weights && v.MaxLogit > 1e-2 {
			t.Errorf("%s: logits differ by %g", model, v.MaxLogit)
		}
	}
}

// A folder that was damaged is no export, and a machine without a browser has none that verifies.
func TestVerifyRefuses(t *testing.T) {
	pagetest.Start(t)
	dir := exported(t, "stars")
	s, err := exporters.Open(t.Context(), "stars")
	if err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(broken, "onnx", "model.onnx"), 1000); err != nil {
		t.Fatal(err)
	}
	if v, err := web.New().Verify(t.Context(), s, exporters.Options{Precision: exporters.FP32}, broken); err == nil {
		t.Errorf("a graph of 1000 bytes has the verdict %v", v)
	}
	if _, err := web.New().Verify(t.Context(), s, exporters.Options{Browser: "/nowhere/chromium"}, dir); err == nil || errors.Is(err, exporters.ErrNoStack) {
		t.Errorf("a browser that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := web.New().Verify(ctx, s, exporters.Options{}, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, expected %v", err, context.Canceled)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv(web.BrowserVariable, "")
	if _, err := web.New().Verify(t.Context(), s, exporters.Options{}, dir); !errors.Is(err, exporters.ErrNoStack) {
		t.Errorf("without a browser: %v, expected %v", err, exporters.ErrNoStack)
	}
}

// Packages come from the folder that is named, are held against their checksums, and npm's absence is told with what to do.
func TestPackages(t *testing.T) {
	s, err := exporters.Open(t.Context(), "stars")
	if err != nil {
		t.Fatal(err)
	}
	fails := func(words ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		_, err := exporters.Export(t.Context(), web.New(), s, exporters.Options{Verify: exporters.VerifyOff}, out)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%v, expected %q", err, w)
			}
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s was written", out)
		}
	}
	dir := t.TempDir()
	t.Setenv(web.PackagesVariable, dir)
	fails("onnxruntime-web-1.30.0.tgz", "npm pack onnxruntime-web@1.30.0")
	if err := os.WriteFile(filepath.Join(dir, "onnxruntime-web-1.30.0.tgz"), []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	fails("has sha512", "pack it again")
	t.Setenv(web.PackagesVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	fails("npm is not found", web.PackagesVariable)
}

// page.json has the model's settings, and names those that the page does not have, which the page then says.
func TestFacts(t *testing.T) {
	needPackages(t)
	type facts struct {
		Settings struct{ Planner, Sampler, Sampling map[string]any }
		Lacks    []string
	}
	own := map[string]any{"temperature": 0.5, "top_k": 0., "top_p": 1., "top_p_rule": "cross", "min_p": 0.}
	for generation, want := range map[string]facts{
		`{"planner": {"name": "eb", "gamma": 0.02, "max_entropy": "inf"}, "sampling": {"temperature": 0.5, "block_length": 0}}`: {
			Settings: struct{ Planner, Sampler, Sampling map[string]any }{map[string]any{"name": "eb", "gamma": 0.02, "max_entropy": "inf"}, map[string]any{}, own}, Lacks: []string{}},
		`{"planner": {"name": "confidence", "k": 2, "schedule": "arccos"}, "sampler": {"grid": "cosine"}, "sampling": {"temperature": 0.5, "block_length": 9, "repetition_penalty": 1.5}}`: {
			Settings: struct{ Planner, Sampler, Sampling map[string]any }{map[string]any{"name": "confidence", "k": 2.}, map[string]any{}, own},
			Lacks:    []string{"planner.schedule arccos", "sampler.grid", "sampling.block_length", "sampling.repetition_penalty"}},
		`{"planner": {"name": "threshold"}, "sampling": {"temperature": 0.5}}`: {
			Settings: struct{ Planner, Sampler, Sampling map[string]any }{map[string]any{"name": "confidence"}, map[string]any{}, own}, Lacks: []string{"planner threshold"}},
	} {
		dir, out := filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "out")
		if err := os.CopyFS(dir, os.DirFS("../../framework/model/embedded/sudoku")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(generation), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := exporters.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exporters.Export(t.Context(), web.New(), s, exporters.Options{Verify: exporters.VerifyOff}, out); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(out, "page.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got facts
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", generation, diff)
		}
		if len(got.Lacks) > 3 {
			t.Run("page", func(t *testing.T) {
				b, address := pagetest.Start(t), serve(t, out)
				p := b.Visit(t, address, address, pagetest.Desktop)
				p.Await(`document.querySelector("#run:enabled")`)
				if said := p.Text("#note"); !strings.Contains(said, "sampling.block_length") {
					t.Errorf("the page says %q", said)
				}
			})
		}
	}
}
