package wire

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// encodeLogits says where the rows' logits lie in the shared memory; what lies elsewhere is copied there first. Without
// shared memory they travel as bytes.
func (e *Encoder) encodeLogits(rows []sampling.Row) error {
	e.step.Logits = nil
	if !e.Needs.Logits || len(rows) == 0 {
		return nil
	}
	m := &e.logits
	m.V, m.SharedBytes, m.Offset, m.Bytes = int32(rows[0].V), 0, m.Offset[:0], m.Bytes[:0]
	e.step.Logits = m
	total := 0
	for i := range rows {
		r := &rows[i]
		if r.V != int(m.V) || len(r.Logits) != len(r.Token)*r.V {
			return violation("row %d: %d logits, expected %d positions x %d tokens", r.Index, len(r.Logits), len(r.Token), m.V)
		}
		total += len(r.Logits)
	}
	if e.Memory == nil || e.Memory.File() == nil {
		for i := range rows {
			m.Bytes = append(m.Bytes, sampling.Bytes(rows[i].Logits)...)
		}
		return nil
	}
	used := 0
	for i := range rows {
		r := &rows[i]
		at, shared := e.Memory.Offset(r.Logits)
		if !shared && len(r.Logits) > 0 {
			if len(e.staging) < total {
				fresh, err := e.Memory.Floats(total)
				if err != nil {
					return err
				}
				e.staging = fresh // rows that were put into the old one stay valid there
				used = 0
			}
			part := e.staging[used : used+len(r.Logits)]
			copy(part, r.Logits)
			used += len(part)
			at, _ = e.Memory.Offset(part)
		}
		m.Offset = append(m.Offset, at)
	}
	m.SharedBytes = e.Memory.Size()
	return nil
}

// decodeLogits gives every row its logits.
func (d *Decoder) decodeLogits(m *pb.Step, positions int) error {
	l := m.GetLogits()
	if l == nil {
		return nil
	}
	v := int(l.V)
	if v <= 0 {
		return violation("logits: %d tokens, expected at least 1", v)
	}
	if l.SharedBytes == 0 {
		if len(l.Bytes) != 4*positions*v {
			return violation("logits: %d bytes, expected %d positions x %d tokens", len(l.Bytes), positions, v)
		}
		all := view[float32](l.Bytes)
		for i := range d.step.Rows {
			r := &d.step.Rows[i]
			n := len(r.Token) * v
			r.V, r.Logits, all = v, all[:n:n], all[n:]
		}
		return nil
	}
	if d.Mapping == nil {
		return violation("logits: they lie in shared memory, and this process has none; start it through mdmhost")
	}
	if len(l.Offset) != len(d.step.Rows) {
		return violation("logits: %d offsets, expected %d rows", len(l.Offset), len(d.step.Rows))
	}
	for i := range d.step.Rows {
		r := &d.step.Rows[i]
		part, err := d.Mapping.Floats(l.SharedBytes, l.Offset[i], len(r.Token)*v)
		if err != nil {
			return violation("logits of row %d: %v", r.Index, err)
		}
		r.V, r.Logits = v, part
	}
	return nil
}
