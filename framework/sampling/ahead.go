package sampling

// later returns the times of the step that follows after taken steps, and whether the sampler looked so far ahead.
func (a *Advance) later(taken int) (Advance, bool) {
	if taken < 1 || taken > len(a.Ahead) {
		return Advance{}, false
	}
	from := Time{a.S, a.AlphaS}
	if taken > 1 {
		from = a.Ahead[taken-2]
	}
	to := a.Ahead[taken-1]
	return Advance{Slot: a.Slot, T: from.T, S: to.T, AlphaT: from.Alpha, AlphaS: to.Alpha, Ahead: a.Ahead[taken:]}, true
}

// next returns the row's step after those of the last pass, and whether it has one in the same block at a time that the
// sampler gave. More than one step was taken where the planner skipped empty ones or the host found that they were.
func (c *canvas) next(a *Advance) (Advance, bool) {
	if c.finish != "" || c.nextT != 0 || c.begun > c.passAt {
		return Advance{}, false
	}
	return a.later(c.step - c.passAt)
}

// ahead returns the next step of every row of the last pass, and whether all of them have one. None is taken while a row waits that the
// sampler could admit.
func (l *Loop) ahead() ([]Advance, bool) {
	if l.Live && l.used < len(l.slots) && l.waits() {
		return nil, false
	}
	next := l.pass.next[:0]
	for i := range l.pass.asked {
		a := &l.pass.asked[i]
		step, ok := l.slots[a.Slot].next(a)
		if !ok {
			return nil, false
		}
		next = append(next, step)
	}
	l.pass.next = next
	return next, len(next) > 0
}

// again lays out the next step of every row whose last one changed nothing, on the statistics that are there, and tells
// whether there is such a row (the cache of MDLM's ddpm_cache, for every planner). A forward pass would give the same
// statistics again: that of a model without a time input, of a head without memory, and of proposals that the planner does
// not look at or that are no draws. What opens later opens with the proposals of this pass, which no decision has looked
// at. Whether a row goes on does not depend on the others.
func (l *Loop) again() bool {
	p, needs, some := &l.pass, &l.PlannerNeeds, false
	if p.timed || l.Memory || needs.KLPrev {
		return false
	}
	looks := needs.Proposal || needs.LogpProposal != NotNeeded || needs.PlannerScore
	i := 0
	for k := range p.asked {
		if i == len(p.live) || p.asked[k].Slot != p.live[i].Slot {
			continue // it took no part in the pass
		}
		c := l.slots[p.live[i].Slot]
		step, ok := c.next(&p.asked[k])
		if c.planned = c.planned || !ok || !c.still || looks && c.request.Params.Temperature > 0; !c.planned {
			p.live[i], some = step, true
		}
		i++
	}
	if some {
		l.lay(needs)
	}
	return some
}
