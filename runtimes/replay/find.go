package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// find returns the question that was asked about the canvas of row i, or says what differs.
func (d *Denoiser) find(one *batch, i int) (*question, error) {
	r := d.rows[one.Index[i]]
	if r == nil {
		return nil, fmt.Errorf("%s has no such row, it has %s; give the rows that were recorded, or none to take them", d.name, d.listed())
	}
	if have, want := float64(one.Params[i].Temperature), d.run.Temperature; float32(have) != float32(want) {
		return nil, fmt.Errorf("temperature %g, and %s was recorded at %g; add --temperature %g", have, d.name, want, want)
	}
	for k := r.at; k < len(r.questions); k++ {
		q := &r.questions[k]
		if d.differs(one, i, q) == "" {
			r.at = k + 1
			return q, nil
		}
		// A question about the canvas of the one before it may have been answered from the same pass: it takes none of its own.
		if k == 0 || !sameCanvas(&q.seen, &r.questions[k-1].seen) {
			break
		}
	}
	if r.at == len(r.questions) {
		return nil, fmt.Errorf("%s ends here: the recorded row was finished, or its run was; after %s, the run goes on", d.name, r.before())
	}
	q := &r.questions[r.at]
	what := d.differs(one, i, q)
	if r.at == 0 {
		return nil, fmt.Errorf("the row begins otherwise than the recorded one: %s (line %d of %s); give the prompts, the length and the block_length of the recorded run", what, q.line, d.name)
	}
	return nil, fmt.Errorf("%s: %s; %s. Decide the same, or record a run with this planner", d.name, what, r.before())
}

// before says what the recorded planner decided before the next question.
func (r *row) before() string {
	q := &r.questions[r.at-1]
	return fmt.Sprintf("in step %d the recorded planner decided to %s (line %d)", q.seen.Step, decided(&q.decision, q.seen.Offset), q.line)
}

// differs says where the canvas of row i is another than the question's, or "".
func (d *Denoiser) differs(one *batch, i int, q *question) string {
	seen, l := &q.seen, one.L
	if lo, hi := int(one.Lo[i]), int(one.Hi[i]); lo != seen.Offset || hi < lo+len(seen.Token) || lo+len(seen.Token) > l {
		return fmt.Sprintf("the planner sees positions %d to %d, and the recorded one saw %d to %d", lo, hi-1, seen.Offset, seen.Offset+len(seen.Token)-1)
	}
	for j, want := range seen.Token {
		at := seen.Offset + j
		if have := one.Tokens[i*l+at]; have != int64(want) {
			return fmt.Sprintf("position %d holds %s here and %s there", at, d.token(have), d.token(int64(want)))
		}
	}
	length := 0
	for _, real := range one.Attention[i*l : (i+1)*l] {
		length += int(real)
	}
	if seen.Length > length {
		return fmt.Sprintf("the row has %d positions here and %d there", length, seen.Length)
	}
	return ""
}

func (d *Denoiser) token(id int64) string {
	if id == int64(d.model.MaskID) {
		return "the mask"
	}
	return fmt.Sprintf("token %d", id)
}

func sameCanvas(a, b *sampling.Row) bool {
	return a.Offset == b.Offset && slices.Equal(a.Token, b.Token)
}

// listed names the rows of the recording.
func (d *Denoiser) listed() string {
	lowest, highest := int64(-1), int64(-1)
	for index := range d.rows {
		if lowest < 0 || index < lowest {
			lowest = index
		}
		highest = max(highest, index)
	}
	return fmt.Sprintf("%d rows from %d to %d", len(d.rows), lowest, highest)
}

// decided puts a decision into words. Positions are those of the whole row.
func decided(d *sampling.Decision, offset int) string {
	var parts []string
	list := func(verb string, positions []int32) {
		if len(positions) == 0 {
			return
		}
		text := make([]string, 0, 8)
		for k, p := range positions {
			if k == 8 {
				text = append(text, fmt.Sprintf("and %d more", len(positions)-k))
				break
			}
			text = append(text, fmt.Sprint(int(p)+offset))
		}
		parts = append(parts, verb+" "+strings.Join(text, " "))
	}
	list("open", d.Open)
	for _, w := range d.Overwrite {
		parts = append(parts, fmt.Sprintf("write token %d at %d", w.Token, int(w.Position)+offset))
	}
	list("remask", d.Remask)
	list("delete", d.Delete)
	for _, in := range d.Insert {
		parts = append(parts, fmt.Sprintf("insert %d into gap %d", in.Count, int(in.Gap)+offset))
	}
	if d.Fill != sampling.FillNone {
		parts = append(parts, "fill the rest")
	}
	if d.Done {
		parts = append(parts, "end the row")
	}
	if len(parts) == 0 {
		return "do nothing"
	}
	return strings.Join(parts, ", ")
}
