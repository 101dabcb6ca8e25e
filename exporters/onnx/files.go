package onnx

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"text/template"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// modelName is the graph's file, dataName its external data beside it.
const (
	modelName = "onnx/model.onnx"
	dataName  = "model.onnx.data"
)

// Files are the contents of an export that holds the graph m: a model directory, engine.py, which opens the graph in a stack, denoiser.py, which feeds it, and
// the scripts that sample. Weights of more than limit bytes have a file of their own.
func Files(ctx context.Context, s *exporters.Source, m *graph.Model, engine []byte, limit int64) (wholefile.Files, error) {
	out, err := s.About()
	if err != nil {
		return nil, err
	}
	divided, data := graph.Divide(m, dataName, limit)
	encoded := divided.Encode()
	if len(encoded) > graph.FileLimit {
		return nil, fmt.Errorf("model %s: its graph has %d bytes without the weights, expected at most %d; no ONNX file holds it, export with --to safetensors", s.Name, len(encoded), graph.FileLimit)
	}
	out[modelName] = wholefile.Bytes(encoded)
	digests := map[string]string{modelName: digest(encoded)}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if data != nil {
		h := sha256.New()
		if err := data(h); err != nil {
			return nil, err
		}
		out["onnx/"+dataName], digests["onnx/"+dataName] = data, hex.EncodeToString(h.Sum(nil))
	}
	names := []string{"config.json"}
	if s.Manifest.Schedule.Kind == "per_token" {
		names = append(names, "model.safetensors") // the exponents
	}
	for _, n := range s.Manifest.Networks {
		for _, name := range []string{n.ONNX, n.Parameters} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := s.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", s.Name, err)
		}
		if out[name] != nil {
			return nil, fmt.Errorf("model %s: mdm.json names %s for a network beside the denoiser, and the export has another file of that name; give it another", s.Name, name)
		}
		if out[name] = wholefile.Bytes(b); name != "config.json" {
			digests[name] = digest(b)
		}
	}
	manifest, err := s.ManifestJSON(digests)
	if err != nil {
		return nil, err
	}
	out["mdm.json"] = wholefile.Bytes(manifest)
	out["engine.py"], out["denoiser.py"] = wholefile.Bytes(engine), wholefile.Bytes(script("denoiser.py"))
	if _, names := pytorch.Sampler(s); sampler(s) != "" {
		for _, name := range names {
			out[name] = wholefile.Bytes(pytorch.Script(name))
		}
	}
	return out, nil
}

// sampler is the script that samples; none where logits do not stand where their tokens do.
func sampler(s *exporters.Source) string {
	if s.Manifest.LogitsShift != 0 {
		return ""
	}
	main, _ := pytorch.Sampler(s)
	return main
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Readme is README.md of an export with a graph, by a template: see README.md.tmpl for what it may name.
func Readme(t *template.Template, s *exporters.Source, o exporters.Options, m *graph.Model) ([]byte, error) {
	var b bytes.Buffer
	err := t.Execute(&b, map[string]any{
		"Name": s.Name, "Precision": cmp.Or(o.Precision, exporters.FP32), "Statistics": o.Head == exporters.HeadStatistics, "Sample": sampler(s), "Insertion": s.Insertion(),
		"Inputs": ports(m.Graph.Inputs), "Outputs": ports(m.Graph.Outputs), "Opset": m.Opset(""), "Mask": s.MaskText(), "MaskID": s.MaskID, "Foreign": graph.Foreign(m), "Fixed": o.Rows > 0 || o.Length > 0,
	})
	return b.Bytes(), err
}

// ports lists inputs or outputs as in "logits float32 [B, L, 33]".
func ports(values []*graph.ValueInfo) (out []string) {
	for _, v := range values {
		var b bytes.Buffer
		fmt.Fprintf(&b, "`%s` %s [", v.Name, v.Type)
		for i, d := range v.Shape {
			if i > 0 {
				io.WriteString(&b, ", ") //nolint:errcheck // memory
			}
			fmt.Fprint(&b, d)
		}
		b.WriteByte(']')
		out = append(out, b.String())
	}
	return out
}
