package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// recordPlacement makes a session remember which provider runs what.
const recordPlacement = "session.record_ep_graph_assignment_info"

// shapes are the operators that sizes of tensors are computed with. A few numbers each: ONNX Runtime has them on the CPU, where the operators
// that ask for them read them.
var shapes = map[string]bool{"Shape": true, "Size": true, "Gather": true, "Slice": true, "Concat": true, "Unsqueeze": true, "Squeeze": true, "Cast": true, "Range": true,
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Min": true, "Max": true, "Neg": true, "Mod": true, "Equal": true, "Where": true, "ConstantOfShape": true,
	"Reshape": true, "ReduceProd": true, "Expand": true, "Identity": true, "Constant": true}

// placed notes what of the session does not run on the chosen provider.
func (d *Denoiser) placed() error {
	if d.kind == nil {
		return nil
	}
	nodes, err := d.library.Placement(rawSession(d.session))
	if err != nil {
		return fmt.Errorf("model %s: which operators run where: %w", d.model.Name, plain(err))
	}
	small, large := 0, map[string]int{}
	for _, n := range nodes {
		switch {
		case n.Provider != "CPUExecutionProvider":
		case shapes[n.Op]:
			small++
		default:
			large[n.Op]++
		}
	}
	if len(large) > 0 {
		var list []string
		for _, op := range slices.Sorted(maps.Keys(large)) {
			list = append(list, fmt.Sprintf("%s (%d)", op, large[op]))
		}
		d.notes = append(d.notes, fmt.Sprintf("provider %s: runs on the CPU, with copies there and back, what it has no kernels for: %s", d.provider, strings.Join(list, ", ")))
		return nil
	}
	note := fmt.Sprintf("provider %s: runs all operators", d.provider)
	if small > 0 {
		note += fmt.Sprintf(", but %d of %d on the CPU that compute shapes", small, len(nodes))
	}
	d.notes = append(d.notes, note)
	return nil
}
