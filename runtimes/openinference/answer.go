package openinference

import (
	"fmt"
	"math"
	"strings"
)

// take reads an answer into the statistics of its part. The error says what the server should have answered.
func (d *Denoiser) take(s *shape, p part, answer []tensor) error {
	tensors := make([]*tensor, len(d.head.outputs))
	for i, name := range d.head.outputs {
		t, err := d.find(answer, name, p)
		if err != nil {
			return err
		}
		tensors[i] = t
	}
	for i, name := range d.head.outputs {
		t := tensors[i]
		var err error
		switch name {
		case proposal:
			err = d.takeProposals(s, p, t)
		case logits:
			d.takeLogits(s, p, t)
		case insertionRate:
			take(t, p, s.stats.InsertionRate, s.batch.L+1, p.length+1)
		case unmaskRate:
			take(t, p, s.stats.UnmaskRate, s.batch.L, p.length)
		default:
			err = d.takeStatistic(s, p, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find is the output of that name, held against what was asked for.
func (d *Denoiser) find(answer []tensor, name string, p part) (*tensor, error) {
	var found *tensor
	var names []string
	for i := range answer {
		if names = append(names, answer[i].name); answer[i].name == name {
			if found != nil {
				return nil, fmt.Errorf("its answer has output %s twice", name)
			}
			found = &answer[i]
		}
	}
	if found == nil {
		return nil, fmt.Errorf("its answer lacks output %s, found %s; the server must give what a request asks for", name, orNothing(strings.Join(names, ", ")))
	}
	shape := []int64{int64(p.rows), int64(p.length)}
	switch name {
	case insertionRate:
		shape[1]++
	case logits:
		shape = append(shape, int64(d.model.V))
	}
	return found, found.check(find(d.ports.outputs, name).datatype, shape)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// take copies the part's rows of an output [rows, from] into [B, to].
func take(t *tensor, p part, out []float32, to, from int) {
	for i := range p.hi - p.lo {
		t.floats(i*from, out[(p.lo+i)*to:(p.lo+i+1)*to])
	}
}

// takeProposals reads tokens, or faults of the logits, at positions whose statistics are wanted.
func (d *Denoiser) takeProposals(s *shape, p part, t *tensor) error {
	b := &s.batch
	for i := range p.hi - p.lo {
		for l := range b.L {
			at := (p.lo+i)*b.L + l
			if s.stats.Proposal[at] = -1; b.Active[at] == 0 {
				continue
			}
			v := t.integer(i*p.length + l)
			switch {
			case v < -2 || v >= int64(d.model.V):
				return fmt.Errorf("output %s holds %d at row %d, position %d, expected a token, 0 to %d, or -1 or -2 for a fault; it is not the graph of this model", proposal, v, p.lo+i, l, d.model.V-1)
			case v >= 0 && d.head.banned[v]:
				return fmt.Errorf("output %s holds %d at row %d, position %d, a token that is never written; export the model again, and serve that", proposal, v, p.lo+i, l)
			}
			s.stats.Proposal[at] = int32(v)
		}
	}
	return nil
}

// takeStatistic reads a column of statistics. What no distribution has is an error, but at faults, where nothing has a meaning.
func (d *Denoiser) takeStatistic(s *shape, p part, t *tensor) error {
	st, b := &s.stats, &s.batch
	const slack = 1e-3 // of float32 and float16
	lowest, highest := 0.0, 1+slack
	var out []float32
	switch t.name {
	case p1:
		out = st.P1
	case p2:
		out = st.P2
	case entropy:
		out, lowest, highest = st.Entropy, -slack, math.Log(float64(d.model.V))+10*slack
	case logpProposal:
		out, lowest, highest = st.LogpProposal, math.Inf(-1), slack
	case logpCurrent:
		out, lowest, highest = st.LogpCurrent, math.Inf(-1), slack
	}
	take(t, p, out, b.L, p.length)
	for at := p.lo * b.L; at < p.hi*b.L; at++ {
		if b.Active[at] == 0 || st.Proposal[at] < 0 {
			continue
		}
		if v := float64(out[at]); !(v >= lowest && v <= highest) {
			return fmt.Errorf("output %s holds %v at row %d, position %d, expected %.4g to %.4g; it is not the statistics head of an export, or its precision is too low", t.name, out[at], at/b.L, at%b.L, lowest, highest)
		}
	}
	return nil
}

// takeLogits reads logits [rows, length, V] to where they are wanted: those of position i-1 are for position i in shifted models.
func (d *Denoiser) takeLogits(s *shape, p part, t *tensor) {
	l, v := s.batch.L, d.model.V
	out := d.logits
	if d.head.passes > 1 {
		out = d.both
	}
	for i := range p.hi - p.lo {
		row := out[(p.lo+i)*l*v : (p.lo+i+1)*l*v]
		from := i * p.length * v
		if d.model.LogitsShift == 0 {
			t.floats(from, row)
			continue
		}
		t.floats(from, row[:v])
		t.floats(from, row[v:])
	}
}

// compute guides the logits and computes the statistics from them.
func (d *Denoiser) compute(s *shape) error {
	n := s.batch.B * s.batch.L * d.model.V
	if d.head.passes > 1 {
		// LLaDA's form: un + (w+1) (cond - un). Where both agree, -Inf included, it is what they agree on, exactly.
		w := d.head.spec.Guidance + 1
		for i, cond := range d.both[:n] {
			un := d.both[n+i]
			if d.logits[i] = un; cond != un {
				d.logits[i] = un + w*(cond-un)
			}
		}
	}
	return d.memory.Compute(d.logits[:n:n], d.model.V, &s.batch, d.head.spec, &s.stats)
}
