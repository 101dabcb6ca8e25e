// Package targets lists the stacks that models are taken to.
package targets

import (
	"fmt"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/gguf"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/exporters/openvino"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/exporters/safetensors"
	"github.com/mdmhost/mdmhost/exporters/transformers"
	"github.com/mdmhost/mdmhost/exporters/web"
	"github.com/mdmhost/mdmhost/framework/nearest"
)

// All are the targets, in the order in which people are told of them.
func All() []exporters.Target {
	return []exporters.Target{
		onnx.New(),
		transformers.New(),
		pytorch.New(),
		web.New(),
		openvino.New(),
		gguf.New(),
		safetensors.New(),
	}
}

// Names are the names of all targets.
func Names() (names []string) {
	for _, t := range All() {
		names = append(names, t.Info().Name)
	}
	return names
}

// Find returns the target of a name. The error names the nearest one, or all.
func Find(name string) (exporters.Target, error) {
	for _, t := range All() {
		if t.Info().Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown target %q%s", name, nearest.DidYouMean(name, Names()))
}
