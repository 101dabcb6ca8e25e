package torchfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/importer/torchfile"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// What torch.save wrote is read as torch.load reads it (testdata/golden.py).
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/want.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Shape  []int64
		DType  string
		Values []float64
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	types := map[string]safetensors.DType{"float32": safetensors.F32, "float16": safetensors.F16, "bfloat16": safetensors.BF16, "int64": safetensors.I64}
	for _, file := range []string{"new.bin", "old.bin", "nested.bin"} {
		f, err := torchfile.Open(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Tensors()) != len(want) {
			t.Errorf("%s: %d tensors, expected %d", file, len(f.Tensors()), len(want))
		}
		for _, x := range f.Tensors() {
			w := want[x.Name]
			if x.DType != types[w.DType] || !cmp.Equal(x.Shape, w.Shape) {
				t.Errorf("%s: %s is %s %v, expected %s %v", file, x.Name, x.DType, x.Shape, w.DType, w.Shape)
				continue
			}
			got := []float64{}
			if x.DType == safetensors.I64 {
				v, err := safetensors.View[int64](x)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range v {
					got = append(got, float64(n))
				}
			} else {
				v, err := x.Float32s()
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range v {
					got = append(got, float64(n))
				}
			}
			for i := range got {
				if len(got) != len(w.Values) || math.Abs(got[i]-w.Values[i]) > 1e-6 {
					t.Errorf("%s: %s is %v, expected %v", file, x.Name, got, w.Values)
					break
				}
			}
		}
		f.Release(f.Tensors()[0].Data)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusals(t *testing.T) {
	whole := map[string][]byte{}
	for _, name := range []string{"new.bin", "old.bin", "text.bin", "hostile.bin", "hostile_old.bin"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = b
	}
	head := whole["old.bin"][:15]
	pickle := func(text string) []byte { // a state dictionary behind the version and the writer of the older form
		return []byte(string(head) + "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02" + text)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":        {nil, "is no file of PyTorch's"},
		"text":         {[]byte("<html>"), "is no file of PyTorch's"},
		"git":          {[]byte("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"},
		"no tensor":    {whole["text.bin"], `holds a string under "b"`},
		"hostile":      {whole["hostile.bin"], `system", which no state dictionary needs, and which is not called here`},
		"hostile old":  {whole["hostile_old.bin"], `system", which no state dictionary needs, and which is not called here`},
		"cut archive":  {whole["new.bin"][:len(whole["new.bin"])-30], "is cut off or no archive"},
		"cut":          {whole["old.bin"][:len(whole["old.bin"])-3], "is cut off or damaged at its storage"},
		"cut pickle":   {whole["old.bin"][:300], "is a pickle that is cut off"},
		"long string":  {pickle("X\xff\xff\xff\x7f"), "is a pickle that is cut off"},
		"empty stack":  {pickle("0."), "takes from an empty stack"},
		"no mark":      {pickle("t."), "without a mark"},
		"no memo":      {pickle("h\x07."), "remembers nothing under 7"},
		"instruction":  {pickle("i"), "the instruction 0x69"},
		"inst":         {pickle("cbuiltins\neval\nX\x01\x00\x00\x001\x85R."), `calls "builtins.eval"`},
		"number":       {pickle("K\x01.\x80\x02]."), "holds a int64"},
		"nothing":      {pickle("}.\x80\x02]."), "holds no tensors"},
		"many":         {pickle(strings.Repeat("N", 1<<21)), "too many values"},
		"nested":       {pickle(")" + strings.Repeat("\x85", 1<<21)), "too many values"},
		"protocol":     {pickle("\x80\x09"), "protocol 9"},
		"not in order": {pickle("ccollections\nOrderedDict\n)R(K\x01K\x02K\x03u."), "sets keys of what is no dictionary"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := torchfile.Parse("f", c.file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), "f: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found %v\nexpected %s", name, err, c.want)
		}
		if taken, most := after.TotalAlloc-before.TotalAlloc, uint64(64*len(c.file)+1<<20); taken > most {
			t.Errorf("%s: allocated %d bytes for a file of %d", name, taken, len(c.file))
		}
	}
	if _, err := os.Stat("/tmp/mdmhost-was-called"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a pickle was executed")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"new.bin", "old.bin", "nested.bin", "text.bin", "hostile.bin", "hostile_old.bin"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := torchfile.Parse("file", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file: ") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		for _, x := range read.Tensors() { // whole, and written as safetensors files check it
			if err := safetensors.Encode(&bytes.Buffer{}, []safetensors.Tensor{x}, nil); err != nil && x.Name != "__metadata__" && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatal(err)
			}
		}
	})
}
