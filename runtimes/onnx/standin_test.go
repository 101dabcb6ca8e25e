package onnx

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// Two providers stand for a GPU where there is none: sessions run on the CPU, and what lives on a device is memory of the runtime's own
// allocator, which only sessions copy. The second takes CUDA graphs, too, and so the tensors of a session that replays them.
func init() {
	none := func(*engine, *ort.SessionOptions, map[string]string) error { return nil }
	for i := range 2 {
		providers = append(providers, &provider{name: fmt.Sprint("stand-in", i), memory: "Cpu", pinned: "Cpu", graphs: i == 1, append: none})
	}
}
