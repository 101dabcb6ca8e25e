package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// golden is what testdata/golden.py writes.
func golden(t *testing.T) []Tensor {
	t.Helper()
	ramp := make([]float32, 6)
	wide := make([]float64, 6)
	for i := range ramp {
		ramp[i] = float32(i)/3 - 0.5
		wide[i] = float64(ramp[i])
	}
	f32 := Of("embed.weight", []int64{2, 3}, ramp)
	f16, bf16 := f32, f32
	f16.Name, bf16.Name = "a<b>&é", "bfloat"
	f16, err := f16.To(F16)
	if err != nil {
		t.Fatal(err)
	}
	if bf16, err = bf16.To(BF16); err != nil {
		t.Fatal(err)
	}
	tensors := []Tensor{
		f32, f16, bf16, Of("double", []int64{2, 3}, wide), Of("ids", []int64{1, 2}, []int64{-1, 1 << 40}),
		{"mask", Bool, []int64{3}, []byte{1, 0, 1}}, Of("scalar", nil, []float32{2.5}), Of("empty", []int64{0, 4}, []float32{}),
		Of("bytes", []int64{2}, []uint8{0, 255}),
	}
	Sort(tensors)
	return tensors
}

// The reference implementation reads what we write, because it writes the same bytes.
func TestGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.safetensors")
	tensors := golden(t)
	if err := WriteFile(path, tensors, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("testdata/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours, theirs) {
		t.Errorf("written %q\nexpected %q", ours, theirs)
	}
	f, err := Open("testdata/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff(map[string]string{"format": "pt"}, f.Metadata); diff != "" {
		t.Error(diff)
	}
	for _, want := range tensors {
		got, err := f.Tensor(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.DType != want.DType || got.Len() != want.Len() || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: read %+v, expected %+v", want.Name, got, want)
		}
	}
	if _, err := f.Tensor("other"); err == nil || !strings.HasSuffix(err.Error(), `has no tensor "other"; it has 9: ids, double, embed.weight, empty, scalar, bfloat, a<b>&é, bytes, ...`) {
		t.Error(err)
	}
}

func TestView(t *testing.T) {
	values := []float32{1, -2, 3.5}
	tensor := Of("x", []int64{3}, values)
	values[1] = 7
	for shift := range 4 { // aligned memory is shared, other memory is copied
		data := append(make([]byte, shift, 16), tensor.Data...)[shift:]
		got, err := View[float32](Tensor{"x", F32, []int64{3}, data})
		if diff := cmp.Diff([]float32{1, 7, 3.5}, got); diff != "" || err != nil {
			t.Errorf("shift %d: %s %v", shift, diff, err)
		}
	}
	if _, err := View[int64](tensor); err == nil || err.Error() != `tensor "x": has elements F32, expected I64` {
		t.Error(err)
	}
}

func TestConversions(t *testing.T) {
	wide := Of("w", []int64{3}, []float64{1.5, math.Inf(-1), 0.1})
	narrow, err := wide.To(F32)
	if err != nil {
		t.Fatal(err)
	}
	got, err := narrow.Float32s()
	if diff := cmp.Diff([]float32{1.5, float32(math.Inf(-1)), 0.1}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []struct {
		from Tensor
		to   DType
		want string
	}{
		{Of("x", []int64{2}, []float32{1, -65520}), F16, `tensor "x": element 1 is -65520, too large for F16; keep the tensor in a wider type`},
		{Of("x", []int64{1}, []float32{math.MaxFloat32}), BF16, `tensor "x": element 0 is 3.4028234663852886e+38, too large for BF16; keep the tensor in a wider type`},
		{Of("x", []int64{2}, []float64{math.Inf(1), 1e39}), F32, `tensor "x": element 1 is 1e+39, too large for F32; keep the tensor in a wider type`},
		{wide, F16, `tensor "w": F64 would be rounded twice on its way to F16; convert it to F32 first if that is meant`},
		{Of("x", []int64{1}, []int64{1}), F32, `tensor "x": has elements I64, expected F16, BF16, F32 or F64`},
		{narrow, I64, `tensor "w": cannot become I64, expected F16, BF16, F32 or F64`},
	} {
		if _, err := bad.from.To(bad.to); err == nil || err.Error() != bad.want {
			t.Errorf("found %v\nexpected %s", err, bad.want)
		}
	}
	for _, x := range []float32{65519.996, float32(math.Inf(1)), 0x1.fep127} {
		if _, err := Of("x", []int64{1}, []float32{x}).To(map[bool]DType{true: BF16, false: F16}[x < float32(math.Inf(1)) && x > 1e6]); err != nil {
			t.Error(err)
		}
	}
}

func raw(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestRefusals(t *testing.T) {
	const a, b = `"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`, `"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}`
	for name, c := range map[string]struct {
		file []byte
		want string // after "f: "
	}{
		"empty":       {nil, "is 0 bytes long, expected a safetensors file; copy it again"},
		"cut header":  {raw(`{`, "")[:8], "has a header of 1 bytes, but 0 bytes follow: the file was cut off; copy it again"},
		"huge header": {[]byte("<html><body>"), "begins with a header of 7078601349733312572 bytes, expected at most 100000000: it is no safetensors file"},
		"no object":   {raw(`[1]`, ""), "has a header that does not begin with {: it is no safetensors file"},
		"not UTF-8":   {raw("{\"\xff\":1}", ""), "has a header that is not UTF-8; write the file again"},
		"cut JSON":    {raw(`{"a":{"dtype"`, ""), `header: tensor "a": unexpected EOF; write the file again`},
		"text after":  {raw(`{}{}`, ""), "header: has text after the end of its JSON object; write the file again"},
		"twice":       {raw("{"+a+","+a+"}", "1234"), `header: "a" stands there twice; write the file again`},
		"no offsets":  {raw(`{"a":{"dtype":"U8","shape":[2]}}`, "12"), `header: tensor "a": expected dtype, shape and two data_offsets; write the file again`},
		"no tensor":   {raw(`{"a":3}`, "12"), `header: tensor "a": found 3, expected a JSON object; write the file again`},
		"overlap":     {raw("{"+a+","+strings.Replace(b, "2,4", "1,3", 1)+"}", "123"), `tensor "b": begins at byte 1 of the data, inside of tensor "a", which ends at 2; write the file again`},
		"hole":        {raw("{"+a+","+strings.Replace(b, "2,4", "3,5", 1)+"}", "12345"), `tensor "b": begins at byte 3 of the data, 1 bytes after the tensor before it; write the file without holes`},
		"rest":        {raw("{"+a+"}", "123"), "has 1 bytes after its last tensor; write the file again"},
		"beyond":      {raw("{"+b+","+a+"}", "123"), `tensor "b": ends at byte 4 of the data, which has 3: the file was cut off; copy it again`},
		"backwards":   {raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}}`, "12"), `tensor "a": has data_offsets [2, 0], expected a begin from 0 on and an end not before it`},
		"bytes":       {raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,2]}}`, "12"), `tensor "a": has 2 bytes, expected 8 for F32 of shape [2]`},
		"type":        {raw(`{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, "12"), `tensor "a": has elements "F4", which this program does not know; convert the tensor, F32 for example`},
		"negative":    {raw(`{"a":{"dtype":"U8","shape":[-1,-2],"data_offsets":[0,2]}}`, "12"), `tensor "a": has shape [-1 -2], expected no negative dimension`},
		"overflow":    {raw(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, ""), `tensor "a": shape [4294967296 4294967296] has more elements than any file can hold`},
	} {
		if _, err := Parse("f", c.file); err == nil || err.Error() != "f: "+c.want {
			t.Errorf("%s: found %v\nexpected f: %s", name, err, c.want)
		}
	}
}

// Headers that are made to take memory are refused, and take a small multiple of their own size.
func TestHostile(t *testing.T) {
	many := strings.Builder{}
	for i := range 1 << 16 {
		fmt.Fprintf(&many, `,"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	for name, c := range map[string]struct {
		file []byte
		want string // in the error; "": none
	}{
		"garbage":    {raw(strings.Repeat("{", 4<<20), ""), "invalid character"},
		"deep":       {raw(`{"a":{"x":`+strings.Repeat("[", 4<<20)+`}}`, ""), "exceeded max depth"},
		"dimensions": {raw(`{"a":{"shape":[`+strings.Repeat("1,", 2<<20)+`1]}}`, ""), "more than 64 dimensions"},
		"offsets":    {raw(`{"a":{"data_offsets":[`+strings.Repeat("0,", 2<<20)+`0]}}`, ""), "more than 64 dimensions"},
		"huge":       {raw(`{"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,0]}}`, ""), "more elements than any file can hold"},
		"beyond":     {raw(`{"a":{"dtype":"F32","shape":[1073741824],"data_offsets":[0,4294967296]}}`, ""), "the file was cut off"},
		"claims":     {append([]byte{0, 0xe1, 0xf5, 5, 0, 0, 0, 0}, '{'), "the file was cut off"}, // a header of 99 MB
		"names":      {raw("{"+many.String()[1:]+"}", ""), ""},
		"pointer":    {[]byte("version https://git-lfs.github.com/spec/v1\n"), "Git LFS"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("f", c.file)
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
		if taken, most := after.TotalAlloc-before.TotalAlloc, uint64(40*len(c.file)+1<<20); taken > most {
			t.Errorf("%s: allocated %d bytes, garbage included, for a file of %d, expected at most %d", name, taken, len(c.file), most)
		}
	}
}

func TestEncodeRefusals(t *testing.T) {
	one := Of("a", []int64{1}, []uint8{1})
	for want, tensors := range map[string][]Tensor{
		`tensor "a": expected names that differ from one another and from __metadata__; rename it`:            {one, one},
		`tensor "__metadata__": expected names that differ from one another and from __metadata__; rename it`: {{reserved, U8, []int64{0}, nil}},
		`tensor "\xff": its name is not UTF-8; rename it`:                                                     {{"\xff", U8, []int64{0}, nil}},
		`tensor "a": has 1 bytes, expected 2 for U8 of shape [2]`:                                             {{"a", U8, []int64{2}, []byte{1}}},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := WriteFile(path, tensors, nil); err == nil || err.Error() != path+": "+want+"; nothing was changed" {
			t.Errorf("found %v\nexpected %s", err, want)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A file that does not fit leaves the one before it as it was.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "model.safetensors")
	if err := WriteFile(path, []Tensor{Of("a", []int64{4}, []uint8{1, 2, 3, 4})}, nil); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(path, []Tensor{Of("a", []int64{1 << 17}, make([]uint8, 1<<17))}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "no space left on device; nothing was changed") {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("found %v", left)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := f.Tensor("a"); err != nil || !bytes.Equal(a.Data, []byte{1, 2, 3, 4}) {
		t.Error(a, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tensors []Tensor
		for _, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 6, rapid.ID).Draw(t, "names") {
			shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "shape")
			x := Tensor{Name: name, DType: rapid.SampledFrom(dtypes).Draw(t, "dtype"), Shape: shape}
			n := int(x.Len() * x.DType.Size())
			x.Data = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
			tensors = append(tensors, x)
		}
		metadata := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
		var b bytes.Buffer
		if err := Encode(&b, tensors, metadata); err != nil {
			t.Fatal(err)
		}
		f, err := Parse("f", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(metadata, f.Metadata); diff != "" {
			t.Fatal(diff)
		}
		if len(f.Tensors()) != len(tensors) {
			t.Fatalf("wrote %d tensors, read %d", len(tensors), len(f.Tensors()))
		}
		for _, want := range tensors {
			got, err := f.Tensor(want.Name)
			if err != nil || !bytes.Equal(got.Data, want.Data) || got.DType != want.DType || !cmp.Equal(got.Shape, append([]int64{}, want.Shape...)) {
				t.Fatalf("%+v %v, expected %+v", got, err, want)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	file, err := os.ReadFile("testdata/golden.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"F16","shape":[],"data_offsets":[2,4],"new":[{}]}} `, "1234"))
	f.Add(raw(`{"a":{"dtype":"F4","shape":[[[1]]],"data_offsets":[0,4294967296]}}`, "1"))
	f.Add(raw(`{"a":{"dtype":"F8_E4M3","shape":[1,1,1,4],"data_offsets":[4,0]}}`, "1234"))
	f.Add(raw(`{"__metadata__":{"a":"b"},"x":{"dtype":"I64","shape":[0,9],"data_offsets":[0,0]}}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := Parse("file", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file: ") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		var b bytes.Buffer
		if err := Encode(&b, read.Tensors(), read.Metadata); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("file", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read.Tensors(), again.Tensors()); diff != "" {
			t.Error(diff)
		}
	})
}
