package ortartifact

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Checkpoint is what the generator saves beside a training model: the initial parameters.
type Checkpoint struct {
	Trained, Frozen []*graph.Tensor // with their elements in Raw, sorted by name
}

// ReadCheckpoint reads the file "checkpoint" (FlatBuffers, identifier ODTC, of onnxruntime-training 1.15 to 1.19.2). Payloads
// are parts of b, which must not change. Sizes are held against shapes; a damaged file is an error and never more.
func ReadCheckpoint(b []byte) (*Checkpoint, error) {
	fail := func(err error) (*Checkpoint, error) {
		return nil, fmt.Errorf("training checkpoint: %w; the file is damaged or no checkpoint of onnxruntime-training", err)
	}
	if len(b) < 12 || string(b[4:8]) != "ODTC" {
		return fail(fmt.Errorf("it has %d bytes and no identifier ODTC", len(b)))
	}
	f := &flat{b: b[:len(b):len(b)]}
	module := table{f, f.follow(0)}.table(1) // fields: version, module_state, optimizer_groups, property_bag
	if f.problem == nil && module.at == 0 {
		f.fail("it holds no parameters")
	}
	// Fields of a module state: requires_grad_params, frozen_params, is_nominal_state, has_external_data.
	if module.bool(2) {
		return nil, fmt.Errorf("training checkpoint: it is a nominal one, without values; give the checkpoint that was written with nominal_checkpoint=False")
	}
	if module.bool(3) {
		return nil, fmt.Errorf("training checkpoint: its values are in a file of their own; make the artifacts anew from a model of less than 2 GB")
	}
	c := &Checkpoint{}
	seen := map[string]bool{}
	for i, to := range []*[]*graph.Tensor{&c.Trained, &c.Frozen} {
		for _, t := range module.tables(i) {
			tensor, err := readTensor(t)
			if f.problem == nil && err == nil && seen[tensor.Name] {
				err = fmt.Errorf("parameter %q: it occurs twice", tensor.Name)
			}
			if err != nil {
				return fail(err)
			}
			if f.problem != nil {
				return fail(f.problem)
			}
			seen[tensor.Name] = true
			*to = append(*to, tensor)
		}
		slices.SortFunc(*to, func(a, b *graph.Tensor) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
	}
	if f.problem != nil {
		return fail(f.problem)
	}
	return c, nil
}

// readTensor reads a tensor. Its fields: name, doc_string, dims, data_type, raw_data, string_data, external_data_offset.
func readTensor(t table) (*graph.Tensor, error) {
	out := &graph.Tensor{Name: t.text(0), Dims: t.int64s(2), Type: graph.Type(t.int32(3, 0)), Raw: t.vector(4, 1)}
	size := map[graph.Type]int64{graph.Float32: 4, graph.Float16: 2, graph.BFloat16: 2, graph.Float64: 8, graph.Int64: 8, graph.Int32: 4, graph.Bool: 1, graph.Uint8: 1, graph.Int8: 1}[out.Type]
	switch {
	case t.file.problem != nil:
		return nil, t.file.problem
	case out.Name == "":
		return nil, fmt.Errorf("a parameter has no name")
	case size == 0:
		return nil, fmt.Errorf("parameter %q: it holds %s; expected numbers", out.Name, out.Type)
	case t.int64(6, -1) >= 0:
		return nil, fmt.Errorf("parameter %q: its values are in another file", out.Name)
	}
	for _, d := range out.Dims {
		if d < 0 || d > 0 && size > int64(len(out.Raw))/d+1 {
			return nil, fmt.Errorf("parameter %q: %d bytes do not fit its shape %v of %s", out.Name, len(out.Raw), out.Dims, out.Type)
		}
		size *= d
	}
	if size != int64(len(out.Raw)) {
		return nil, fmt.Errorf("parameter %q: %d bytes do not fit its shape %v of %s", out.Name, len(out.Raw), out.Dims, out.Type)
	}
	return out, nil
}
