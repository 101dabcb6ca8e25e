package onnx

import (
	"strconv"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// bound are the tensors of a pass as ONNX Runtime has them. Tensors of the host go to the session as they are: it copies what every
// pass changes to its device, and results back. What seldom changes has a copy on the device, and what the head keeps lies there alone. A
// session that replays CUDA graphs reads and writes the device only, at the same addresses in every pass, so that it is fed before and read after.
type bound struct {
	in, out  [2][]unsafe.Pointer // OrtValues, by Pass.Turn
	copies   []*deviceCopy
	up, down freight
	run      [2]*ort.RunOptions // of CUDA graphs, by Pass.Turn; nil without them
	values   []unsafe.Pointer   // all OrtValues
	onDevice []unsafe.Pointer   // blocks there
}

// deviceCopy is a tensor that goes to the device when its numbers have changed.
type deviceCopy struct {
	forward.Tensor
	to      unsafe.Pointer
	version int // that is there; -1 at first
}

// freight are the bytes that cross together.
type freight struct{ from, to []unsafe.Pointer } // OrtValues

// bind lays OrtValues over the tensors of a pass.
func (d *Denoiser) bind(p *forward.Pass) (free func(), err error) {
	b := &bound{}
	free = func() { b.free(&d.carrier) }
	p.Values = b
	for _, t := range p.In {
		if err := b.add(d, t, &b.in, &b.up, false); err != nil {
			return free, err
		}
	}
	for _, t := range p.Out {
		if err := b.add(d, t, &b.out, &b.down, true); err != nil {
			return free, err
		}
	}
	if d.options.CUDAGraph {
		err = b.annotate(d)
	}
	return free, err
}

// add lists a tensor for both turns.
func (b *bound) add(d *Denoiser, t forward.Tensor, to *[2][]unsafe.Pointer, load *freight, out bool) error {
	bytes := t.Count * sizes[t.Type]
	list := func(place *capi.Place, at ...unsafe.Pointer) error {
		for turn := range to {
			v, err := b.value(place, at[min(turn, len(at)-1)], bytes, t.Type, t.Dims...)
			if err != nil {
				return err
			}
			to[turn] = append(to[turn], v)
		}
		return nil
	}
	switch {
	case t.Turned != nil:
		return list(d.place, t.Data, t.Turned)
	case d.carrier.session == nil, t.Version == nil && !d.options.CUDAGraph:
		return list(d.host, t.Data)
	}
	there, err := residence{&d.carrier}.Alloc(bytes)
	if err != nil {
		return err
	}
	b.onDevice = append(b.onDevice, there)
	if t.Version != nil {
		b.copies = append(b.copies, &deviceCopy{t, there, -1})
		return list(d.place, there)
	}
	here, err := b.value(d.host, t.Data, bytes, graph.Uint8, int64(bytes))
	if err != nil {
		return err
	}
	same, err := b.value(d.place, there, bytes, graph.Uint8, int64(bytes))
	if err != nil {
		return err
	}
	if out {
		here, same = same, here
	}
	load.from, load.to = append(load.from, here), append(load.to, same)
	return list(d.place, there)
}

func (b *bound) value(place *capi.Place, data unsafe.Pointer, bytes int, typ graph.Type, dims ...int64) (unsafe.Pointer, error) {
	v, err := place.Tensor(data, bytes, int32(typ), dims...)
	if err == nil {
		b.values = append(b.values, v)
	}
	return v, err
}

// maxGraphs bounds the CUDA graphs of a session, which lets go of none; sizes of batches beyond them run without.
const maxGraphs = 64

// annotate makes the run options of a pass, which number its graphs: one a turn, since the turns have other addresses.
func (b *bound) annotate(d *Denoiser) error {
	for turn := range b.run {
		run, err := ort.NewRunOptions()
		if err != nil {
			return err
		}
		b.run[turn] = run
		id := -1 // no graph
		if d.graphs < maxGraphs {
			d.graphs++
			id = d.graphs
		}
		if err := d.library.ConfigureRun(rawRun(run), "gpu_graph_annotation_id", strconv.Itoa(id)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bound) free(c *carrier) {
	for _, v := range b.values {
		c.lib.ReleaseValue(v)
	}
	for _, p := range b.onDevice {
		c.place.Free(p)
	}
	for _, r := range b.run {
		if r != nil {
			_ = r.Destroy()
		}
	}
	*b = bound{}
}
