package network

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// What the names of tensors in model.safetensors begin with that are no parameters of the network of config.json.
const (
	OrderPrefix    = "order."    // of an order network (LoFlexMDM)
	SchedulePrefix = "schedule." // learned schedules, such as schedule.exponents [V] (GenMD4)
)

// ExtraName is the file in which exports for other stacks hold those tensors, whose model.safetensors is the network's alone.
const ExtraName = "extra.safetensors"

// IsExtra tells whether a tensor's name begins with one of them.
func IsExtra(name string) bool {
	return strings.HasPrefix(name, OrderPrefix) || strings.HasPrefix(name, SchedulePrefix)
}

// checkExtra refuses tensors that would not be read back.
func checkExtra(tensors []safetensors.Tensor) error {
	for _, t := range tensors {
		if !IsExtra(t.Name) {
			return fmt.Errorf("tensor %q: is beside the network's parameters; expected a name that begins with %q or %q", t.Name, OrderPrefix, SchedulePrefix)
		}
	}
	return nil
}

// Extra reads the tensors of a model's model.safetensors whose names begin with a prefix, [OrderPrefix] or [SchedulePrefix], or
// a longer one. None is no error, and neither is a model without the file.
func Extra(m *model.Model, prefix string) ([]safetensors.Tensor, error) {
	text, err := m.ReadFile(parametersName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	f, err := safetensors.Parse(filepath.Join(m.Name, parametersName), text)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	return slices.DeleteFunc(slices.Clone(f.Tensors()), func(t safetensors.Tensor) bool {
		return !IsExtra(t.Name) || !strings.HasPrefix(t.Name, prefix)
	}), nil
}
