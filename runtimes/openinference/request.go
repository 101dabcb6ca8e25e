package openinference

import "github.com/mdmhost/mdmhost/framework/sampling"

// request writes what the model runs for a part. Rows beyond the part's repeat its last one, which is sound input to any model.
func (d *Denoiser) request(s *shape, p part) *request {
	r := &request{outputs: d.head.outputs}
	for _, in := range d.ports.inputs {
		t := tensor{name: in.name, datatype: in.datatype, shape: []int64{int64(p.rows), int64(p.length)}}
		if knownInputs[in.name].rank == 1 { // and [B, 1] where the server has it so
			t.shape = append(t.shape[:1:1], in.shape[1:]...)
		}
		for i := range p.rows {
			d.fill(&t, &s.batch, min(p.lo+i, p.hi-1), p.length)
		}
		r.inputs = append(r.inputs, t)
	}
	for _, name := range r.outputs {
		n := p.rows * (p.length + 1)
		if name == logits {
			n *= d.model.V
		}
		r.bytes += 8 * n
	}
	return r
}

// fill appends a row of the model to an input.
func (d *Denoiser) fill(t *tensor, b *sampling.Batch, row, length int) {
	tokens := b.Tokens
	if row >= b.B { // with guidance: once more, without the prompt
		row, tokens = row-b.B, b.Unconditional
	}
	lo, hi := row*b.L, (row+1)*b.L
	padded := func(from []int64, pad int64) {
		for _, v := range from[lo:hi] {
			t.addInteger(v)
		}
		for range length - b.L {
			t.addInteger(pad)
		}
	}
	switch t.name {
	case inputIDs:
		padded(tokens, int64(d.model.PadID))
	case attentionMask:
		padded(b.Attention, 0)
	case tokenTypeIDs:
		for range length {
			t.addInteger(0)
		}
	case positionIDs:
		for i := range length {
			t.addInteger(int64(i))
		}
	case timesteps:
		t.addFloat(b.Time[row])
	case temperature:
		if !d.head.served {
			t.addFloat(0) // nobody reads what the served head draws
			return
		}
		t.addFloat(b.Params[row].Temperature)
	case uniform:
		drawn := d.head.served && b.Params[row].Temperature > 0
		for i := range length {
			if !drawn || i >= b.L {
				t.addFloat(0.5)
			} else {
				t.addFloat(float32(b.Uniform[lo+i]))
			}
		}
	}
}
