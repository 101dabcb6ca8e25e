package network_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// logitsOf runs a model directory as the host does, over several threads.
func logitsOf(t *testing.T, m *model.Model, data []byte, r rows) []float32 {
	t.Helper()
	p, err := device(t).NewProgram(t.Context(), onnx.Model{Name: m.Name, Data: data, Dir: m.ONNXDir()},
		onnx.ProgramOptions{Outputs: []string{"logits"}, Dims: map[string]int64{"B": int64(r.b), "L": int64(r.l)}})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask} {
		to, err := feed.Int64(name)
		if err != nil || copy(to, v) != len(v) {
			t.Fatal(name, err)
		}
	}
	if err := p.Run(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	out, err := p.Output("logits")
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32{}, out...)
}

// A linked model holds its parameters once, in the type of model.safetensors, and is a model like another: it runs, tells what positions
// think that do not see themselves, is read back to train on, and is exported again.
func TestLinked(t *testing.T) {
	for _, dtype := range []safetensors.DType{safetensors.F32, safetensors.F16, safetensors.BF16} {
		t.Run(string(dtype), func(t *testing.T) {
			d := textModel(t, network.Config{Norm: "rms", Activation: "swiglu", KeyValueHeads: 2, QKVBias: true})
			d.Linked, d.DType = true, dtype
			dir := filepath.Join(t.TempDir(), "linked")
			if err := network.WriteModelDir(dir, d); err != nil {
				t.Fatal(err)
			}
			m, err := model.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Verify(); err != nil || m.ONNXName != "model.onnx" || len(m.ONNX) > 30000 || fmt.Sprint(m.Graph.External()) != "[model.safetensors]" {
				t.Fatalf("%s has %d bytes and data in %q (%v)", m.ONNXName, len(m.ONNX), m.Graph.External(), err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "config.json"))
			if want := fmt.Sprintf(`"dtype": "%s"`, map[safetensors.DType]string{"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[dtype]); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("config.json does not say %s (%v)", want, err)
			}
			c, values, err := network.From(m)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := network.Export(c, values, network.ExportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := random(c, 3, 20)
			r.mask = make([]int64, 60)
			for i := range r.mask {
				r.mask[i] = min(int64(i), 1)
			}
			want := logitsOf(t, m, whole.Encode(), r)
			near(t, "linked", want, logitsOf(t, m, m.ONNX, r), 1e-6)
			_, exported, err := network.Exported(m)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range values {
				near(t, name, v, exported[name], 0)
			}
			biased, err := network.Biased(m)
			if err != nil {
				t.Fatal(err)
			}
			shadows, err := onnx.Open(t.Context(), onnx.Model{Name: m.Name, Data: biased.Encode(), Dir: m.ONNXDir(), MaskID: m.MaskID, V: m.V}, onnx.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer shadows.Close() //nolint:errcheck // nothing is written
			if err := shadows.Configure(t.Context(), sampling.Head{Needs: sampling.Needs{LogpLeaveOneOut: true}, Suppress: []int32{m.MaskID}}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The safetensors file is where the layout says, whatever the names and the metadata.
func TestLayout(t *testing.T) {
	tensors := []safetensors.Tensor{safetensors.Of("a", []int64{3}, []float32{1, 2, 3}), safetensors.Of("long name of b", []int64{2, 1}, []uint16{4, 5})}
	for _, metadata := range []map[string]string{nil, {"format": "pt"}, {"x": "1234567"}} {
		l, err := network.LayoutOf(tensors, metadata)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "f.safetensors")
		if err := safetensors.WriteFile(path, tensors, metadata); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tensors {
			at := l[one.Name]
			if got := string(file[at.Offset : at.Offset+at.Length]); got != string(one.Data) {
				t.Errorf("%s: %x, want %x", one.Name, got, one.Data)
			}
		}
		if at := l["a"].Offset; at%8 != 0 {
			t.Errorf("data begins at byte %d, want a multiple of 8", at)
		}
	}
}

func TestLinkedProblems(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 9, HiddenSize: 8, Layers: 1, Heads: 2, MaxPositions: 6})
	l := network.Layout{}
	at := int64(0)
	for _, p := range network.Params(c) {
		l[p.Name] = network.Place{DType: safetensors.F32, Shape: p.Shape, Offset: at, Length: 4 * p.Len()}
		at += 4 * p.Len()
	}
	if _, err := network.ExportLinked(c, l, "model.safetensors", network.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	delete(l, "norm.weight")
	l["head.weight"] = network.Place{DType: safetensors.F64, Shape: []int64{9, 8}, Length: 8 * 72}
	l["embeddings.tokens"] = network.Place{DType: safetensors.F32, Shape: []int64{8, 9}, Length: 4 * 72}
	l["layers.0.mlp.up.weight"] = network.Place{DType: safetensors.BF16, Shape: []int64{32, 8}, Length: 5}
	_, err := network.ExportLinked(c, l, "model.safetensors", network.ExportOptions{})
	mustSay(t, err, `model.safetensors: tensor "norm.weight" is missing`, `tensor "head.weight" has elements F64, expected F32, F16 or BF16`,
		`tensor "embeddings.tokens" has shape [8 9], expected [9 8]`, `tensor "layers.0.mlp.up.weight" has bytes 0 and 5 following, expected 512`)
	_, err = network.ExportLinked(c, l, "model.safetensors", network.ExportOptions{Precision: network.Float16})
	mustSay(t, err, "linked parameters have that of model.safetensors")
}

// A leave-one-out question has no answer where a position is told by the one before, which sees it.
func TestShiftHasNoShadows(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 9, HiddenSize: 8, Layers: 1, Heads: 2, MaxPositions: 6, LogitsShift: true})
	_, err := network.Export(c, formula(c), network.ExportOptions{Bias: true})
	mustSay(t, err, "attention_bias is given, and with logits_shift a position is told by the one before")
	if _, err := network.Export(c, formula(c), network.ExportOptions{Opset: graph.DefaultOpset}); err != nil {
		t.Error(err)
	}
}
