package sampling

// Where a step left a row as it was, a model that does not read times says the same of it again (methods/loflexmdm.md, section 8, item 16). Samplers
// that decide by themselves, and whose steps often change nothing, then get the statistics of the row's last pass once more, with new
// noise of their own: the row takes part in no pass and counts none. What opens later opens with the proposals of that pass, which no
// decision has looked at, so that a row's tokens depend neither on this nor on what the rows beside it do.

// keep copies what the last pass said of rows that their step left unchanged, before the next pass takes its place.
func (l *Loop) keep() {
	p, needs := &l.pass, &l.SamplerNeeds
	saves := l.Planner == nil && !p.timed && !l.Memory && len(l.HoldBack) == 0 && !needs.KLPrev && !needs.PlannerScore && !needs.Logits && len(needs.VocabDot) == 0
	looks := needs.Proposal || needs.LogpProposal != NotNeeded
	for i, a := range p.live {
		c := l.slots[a.Slot]
		switch {
		case c == nil:
		case !saves || !c.still || looks && c.request.Params.Temperature > 0:
			c.kept = nil
		case c.kept == nil:
			n := len(c.tokens)
			c.kept = &Statistics{B: 1, L: max(n, 1)}
			c.kept.take(0, p.stats, i, n)
		}
	}
}

// awake returns the rows that need a pass.
func (l *Loop) awake(rows []Advance) []Advance {
	p := &l.pass
	p.awake = p.awake[:0]
	for _, a := range rows {
		if l.slots[a.Slot].kept == nil {
			p.awake = append(p.awake, a)
		}
	}
	if len(p.awake) == len(rows) {
		return rows
	}
	return p.awake
}

// join puts what is kept of rows beside what the pass said of the others.
func (l *Loop) join(rows []Advance) {
	p := &l.pass
	if len(p.live) == len(rows) {
		return
	}
	out := &Statistics{B: len(rows), L: 1}
	for _, a := range rows {
		out.L = max(out.L, len(l.slots[a.Slot].tokens))
	}
	passed := 0
	for i, a := range rows {
		if c := l.slots[a.Slot]; c.kept != nil {
			out.take(i, c.kept, 0, len(c.tokens))
		} else {
			out.take(i, p.stats, passed, len(c.tokens))
			passed++
		}
	}
	p.stats, p.live = out, rows
}

// take makes row i what row j of other statistics is, which has n positions.
func (s *Statistics) take(i int, from *Statistics, j, n int) {
	takeRow(s, &s.Proposal, i, from, from.Proposal, j, n, 0)
	takeRow(s, &s.TopIDs, i, from, from.TopIDs, j, n, 0)
	theirs := from.columns()
	for k, mine := range s.columns() {
		takeRow(s, mine, i, from, *theirs[k], j, n, 0)
	}
	takeRow(s, &s.InsertionRate, i, from, from.InsertionRate, j, n, 1)
}

// columns are the statistics of float32 that have a number, or K, for each position.
func (s *Statistics) columns() [9]*[]float32 {
	return [...]*[]float32{&s.LogpProposal, &s.P1, &s.P2, &s.Entropy, &s.LogpCurrent, &s.KLPrev, &s.TopLogp, &s.LogpLeaveOneOut, &s.UnmaskRate}
}

// takeRow copies the n positions of row j of src, which belongs to from, to row i of dst, which belongs to s. more is what rows have beside
// their positions.
func takeRow[T int32 | float32](s *Statistics, dst *[]T, i int, from *Statistics, src []T, j, n, more int) {
	if len(src) == 0 {
		return
	}
	width := len(src) / (from.B * (from.L + more))
	if *dst == nil {
		*dst = make([]T, s.B*(s.L+more)*width)
	}
	copy((*dst)[i*(s.L+more)*width:], src[j*(from.L+more)*width:][:(n+more)*width])
}
