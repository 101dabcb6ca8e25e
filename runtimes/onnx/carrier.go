package onnx

import (
	"fmt"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// carrier copies bytes between the host and the memory that a provider computes in. A session copies, by running Identity from an
// input on one side to an output on the other: the runtime alone knows how its providers copy.
type carrier struct {
	engine  *engine
	lib     *capi.Library
	host    *capi.Place
	place   *capi.Place                 // where sessions compute; the host on the CPU
	pinned  *capi.Place                 // memory of the host that the provider copies from and to faster; nil without one
	session *ort.DynamicAdvancedSession // nil where host and place are one
}

// settle finds the places of the engine's provider.
func (c *carrier) settle(e *engine) (err error) {
	c.engine, c.lib = e, e.library
	if c.host, err = c.lib.Host(); err != nil {
		return err
	}
	if c.place = c.host; e.kind == nil || e.kind.memory == "" {
		return nil
	}
	setup, err := e.carrierOptions()
	if err != nil {
		return fmt.Errorf("provider %s: %w; run `mdmhost runtime check`", e.provider, err)
	}
	defer func() { _ = setup.Destroy() }()
	return c.lodge(e, setup, e.kind.memory, e.kind.pinned)
}

// carrierOptions are session options for copies alone. A provider that compiles graphs leaves them to the one after it.
func (e *engine) carrierOptions() (*ort.SessionOptions, error) {
	plain, p := *e, e.kind
	plain.options.CUDAGraph, plain.options.Profile = false, ""
	setup, err := plain.sessionOptions("")
	if err != nil {
		return nil, err
	}
	options := e.options.ProviderOptions
	if len(p.also) > 0 {
		p, err = providerOf(p.also[0])
		options = nil
	}
	if err == nil {
		err = plain.appendOne(setup, p, options)
	}
	if err != nil {
		_ = setup.Destroy()
		return nil, err
	}
	return setup, nil
}

// lodge takes as place what a session of these options allocates under the name memory.
func (c *carrier) lodge(e *engine, setup *ort.SessionOptions, memory, pinned string) error {
	var err error
	if c.session, err = identities(setup, 1); err != nil {
		return fmt.Errorf("provider %s: no session can be made: %w", e.provider, e.failed(err, "run `mdmhost runtime check`"))
	}
	place, err := c.lib.Device(rawSession(c.session), memory, e.options.Device)
	if err != nil {
		return fmt.Errorf("provider %s: memory on device %d: %w", e.provider, e.options.Device, e.failed(err, "run `mdmhost runtime check`"))
	}
	c.place = place
	if pinned == "" {
		return nil
	}
	if c.pinned, err = c.lib.Device(rawSession(c.session), pinned, e.options.Device); err != nil {
		c.pinned = nil
		e.notes = append(e.notes, fmt.Sprintf("provider %s: copies from and to pageable memory, since there is no other: %v", e.provider, plain(err)))
	}
	return nil
}

// identities is a session that copies n inputs, x and on, to n outputs, y and on, all of them bytes.
func identities(setup *ort.SessionOptions, n int) (*ort.DynamicAdvancedSession, error) {
	m := graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "carrier"}}
	in, out := carried(n)
	for i := range n {
		bytes := func(name string) *graph.ValueInfo {
			return &graph.ValueInfo{Name: name, Type: graph.Uint8, HasRank: true, Shape: []graph.Dim{graph.Named(fmt.Sprint("n", i))}}
		}
		m.Graph.Inputs, m.Graph.Outputs = append(m.Graph.Inputs, bytes(in[i])), append(m.Graph.Outputs, bytes(out[i]))
		m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Op: "Identity", Inputs: in[i : i+1], Outputs: out[i : i+1]})
	}
	return ort.NewDynamicAdvancedSessionWithONNXData(m.Encode(), in, out, setup)
}

// carried are the names of the inputs and outputs of [identities].
func carried(n int) (in, out []string) {
	in, out = []string{"x"}, []string{"y"}
	for i := 1; i < n; i++ {
		in, out = append(in, fmt.Sprint("x", i)), append(out, fmt.Sprint("y", i))
	}
	return in, out
}

// parcel is how many bytes are carried at a time, so that the runtime's own copy on the way stays small.
const parcel = 32 << 20

// carry copies n bytes between the host and the place of tensors, in either direction, or within one.
func (c *carrier) carry(from *capi.Place, src unsafe.Pointer, to *capi.Place, dst unsafe.Pointer, n int) error {
	if c.session == nil {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		return nil
	}
	for at := 0; at < n; at += parcel {
		part := min(n-at, parcel)
		x, err := from.Tensor(unsafe.Add(src, at), part, int32(graph.Uint8), int64(part))
		if err != nil {
			return err
		}
		y, err := to.Tensor(unsafe.Add(dst, at), part, int32(graph.Uint8), int64(part))
		if err == nil {
			err = c.lib.RunOne(rawSession(c.session), x, y)
		}
		c.lib.ReleaseValue(x)
		c.lib.ReleaseValue(y)
		if err != nil {
			return err
		}
	}
	return nil
}

// close gives the places back; nothing of them may be in use.
func (c *carrier) close() error {
	for _, p := range []*capi.Place{c.pinned, c.place, c.host} {
		if p != nil {
			p.Close()
		}
	}
	var err error
	if c.session != nil {
		err = c.session.Destroy()
	}
	*c = carrier{}
	return err
}

// residence is the memory where sessions compute, for what stays there.
type residence struct{ *carrier }

func (r residence) Alloc(bytes int) (unsafe.Pointer, error) {
	p, err := r.place.Alloc(bytes)
	if err != nil {
		return nil, r.engine.failed(err, "use a smaller --batch")
	}
	return p, nil
}

func (r residence) Free(p unsafe.Pointer) { r.place.Free(p) }

func (r residence) Copy(dst, src unsafe.Pointer, bytes int) error {
	if err := r.carry(r.place, src, r.place, dst, bytes); err != nil {
		return r.engine.failed(err, "run `mdmhost runtime check`")
	}
	return nil
}
