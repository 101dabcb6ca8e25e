package wire

import (
	"errors"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
)

// Encoder writes steps as messages. Its memory is reused, so a message is valid until the next Encode.
type Encoder struct {
	Needs  sampling.Needs // columns that travel
	Memory *shm.Memory    // where logits lie or are put; nil sends them as bytes

	step    pb.Step
	logits  pb.Logits
	staging []float32 // logits that were not in Memory
}

// Encode writes one step.
func (e *Encoder) Encode(step *sampling.Step) (*pb.Step, error) {
	m := &e.step
	m.Run = step.Run
	m.Index, m.Slot, m.Offset, m.N, m.Blanks = m.Index[:0], m.Slot[:0], m.Offset[:0], m.N[:0], m.Blanks[:0]
	m.Step, m.Steps, m.Length, m.Behind = m.Step[:0], m.Steps[:0], m.Length[:0], m.Behind[:0]
	m.Room = m.Room[:0]
	m.T, m.S, m.AlphaT, m.AlphaS = m.T[:0], m.S[:0], m.AlphaT[:0], m.AlphaS[:0]
	m.K, m.C = int32(e.Needs.TopK), int32(len(e.Needs.VocabDot))
	for i := range step.Rows {
		r := &step.Rows[i]
		m.Index, m.Slot, m.Offset = append(m.Index, r.Index), append(m.Slot, int32(r.Slot)), append(m.Offset, int32(r.Offset))
		m.N, m.Blanks = append(m.N, int32(len(r.Token))), append(m.Blanks, int32(r.Blanks))
		m.Step, m.Steps = append(m.Step, int32(r.Step)), append(m.Steps, int32(r.Steps))
		m.Length, m.Behind = append(m.Length, int32(r.Length)), append(m.Behind, int32(r.Behind))
		m.Room = append(m.Room, int32(r.Room))
		m.T, m.S, m.AlphaT, m.AlphaS = append(m.T, r.T), append(m.S, r.S), append(m.AlphaT, r.AlphaT), append(m.AlphaS, r.AlphaS)
		if e.Needs.TopK > 0 && r.K > 0 {
			m.K = int32(r.K)
		}
	}
	if err := gather(flagColumns, &e.Needs, step.Rows, m); err != nil {
		return nil, err
	}
	if err := gather(uint8Columns, &e.Needs, step.Rows, m); err != nil {
		return nil, err
	}
	if err := gather(int32Columns, &e.Needs, step.Rows, m); err != nil {
		return nil, err
	}
	if err := gather(float32Columns, &e.Needs, step.Rows, m); err != nil {
		return nil, err
	}
	if err := gather(float64Columns, &e.Needs, step.Rows, m); err != nil {
		return nil, err
	}
	return m, e.encodeLogits(step.Rows)
}

// Decoder reads messages as steps. A step points into its message and is valid until the next Decode.
type Decoder struct {
	Mapping *shm.Mapping // the host's memory, nil where there is none

	step sampling.Step
}

// Decode reads one step and refuses lists and columns of wrong length.
func (d *Decoder) Decode(m *pb.Step) (*sampling.Step, error) {
	rows, positions := len(m.GetN()), 0
	for _, n := range m.GetN() {
		if n < 0 {
			return nil, violation("step: a row has %d positions, expected at least 0", n)
		}
		positions += int(n)
	}
	for _, list := range [...]struct {
		name string
		len  int
	}{{"index", len(m.GetIndex())}, {"slot", len(m.GetSlot())}, {"offset", len(m.GetOffset())}, {"blanks", len(m.GetBlanks())},
		{"step", len(m.GetStep())}, {"steps", len(m.GetSteps())}, {"t", len(m.GetT())}, {"s", len(m.GetS())},
		{"alpha_t", len(m.GetAlphaT())}, {"alpha_s", len(m.GetAlphaS())}} {
		if list.len != rows {
			return nil, violation("step: list %s has %d entries, expected %d rows", list.name, list.len, rows)
		}
	}
	// Lists that hosts of the first days do not send.
	for _, list := range [...]*[]int32{&m.Length, &m.Behind, &m.Room} {
		if len(*list) == 0 {
			*list = make([]int32, rows)
		} else if len(*list) != rows {
			return nil, violation("step: lists length, behind and room have %d, %d and %d entries, expected %d rows", len(m.Length), len(m.Behind), len(m.Room), rows)
		}
	}
	if len(m.GetToken()) != 4*positions || len(m.GetFlags()) != positions || m.GetK() < 0 || m.GetC() < 0 {
		return nil, violation("step: token has %d bytes, flags %d, k %d, c %d; expected %d positions", len(m.GetToken()), len(m.GetFlags()), m.GetK(), m.GetC(), positions)
	}
	d.step.Run = m.GetRun()
	d.step.Rows = slices.Grow(d.step.Rows[:0], rows)[:rows]
	for i := range d.step.Rows {
		d.step.Rows[i] = sampling.Row{
			Index: m.Index[i], Slot: int(m.Slot[i]), Offset: int(m.Offset[i]), Blanks: int(m.Blanks[i]), Step: int(m.Step[i]), Steps: int(m.Steps[i]),
			T: m.T[i], S: m.S[i], AlphaT: m.AlphaT[i], AlphaS: m.AlphaS[i], K: int(m.K), Length: int(m.Length[i]), Behind: int(m.Behind[i]), Room: int(m.Room[i]),
		}
	}
	if err := errors.Join(
		scatter(flagColumns, m, positions, d.step.Rows), scatter(uint8Columns, m, positions, d.step.Rows), scatter(int32Columns, m, positions, d.step.Rows),
		scatter(float32Columns, m, positions, d.step.Rows), scatter(float64Columns, m, positions, d.step.Rows),
		d.decodeLogits(m, positions)); err != nil {
		return nil, err
	}
	return &d.step, nil
}
