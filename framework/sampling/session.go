package sampling

import "fmt"

// slotsHint is the rule of life of a slot.
const slotsHint = "use a slot from the Admit that returned it until its Emit"

// passHint is the order of the calls that a sampler with its own decisions makes.
const passHint = "call Denoise, then Plan if it is wanted, then Apply once, and Emit after that"

// Done tells, after a sampler returned without an error, whether it did its work: the error, CONTRACT_VIOLATION, says
// which rows are left. Rows in use stay so until [Loop.Abort]; rows that wait are not admitted.
func (l *Loop) Done() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	const hint = "drive the session until Admit returns no row and every row is emitted"
	for _, c := range l.slots {
		if c != nil {
			return l.misuse(fmt.Sprintf("returned with %d rows in use, the first of them row %d", l.used, c.request.Index), hint)
		}
	}
	if !l.Live && l.waits() { // rows of a live run may have come since the sampler asked
		return l.misuse(fmt.Sprintf("returned while rows wait, the first of them row %d", l.waiting.Index), hint)
	}
	return nil
}

// who names the sampler in errors.
func (l *Loop) who() string { return "sampler " + l.SamplerName }

// misuse is a request that breaks the sampler's side of [Session].
func (l *Loop) misuse(problem, hint string) error {
	return &Error{Code: ContractViolation, Object: l.who(), Problem: problem, Hint: hint}
}

// planned refuses to ask the planner where there is none.
func (l *Loop) planned() error {
	if l.Planner == nil {
		return l.misuse("asks the planner, and there is none: it described itself with can_insert", "decide with Denoise and Apply")
	}
	return nil
}

// checkTimes holds the times that a sampler gave against the contract: they run from 1 down to 0, and alphas are
// probabilities. NaN is neither.
func (l *Loop) checkTimes(rows []Advance) error {
	unit := func(x float64) bool { return x >= 0 && x <= 1 }
	for i := range rows {
		a := &rows[i]
		if !unit(a.T) || !unit(a.S) || a.S > a.T {
			return l.misuse(fmt.Sprintf("advances slot %d from time t %v to s %v", a.Slot, a.T, a.S), "expected 1 >= t >= s >= 0")
		}
		if !unit(a.AlphaT) || !unit(a.AlphaS) {
			return l.misuse(fmt.Sprintf("advances slot %d with alpha_t %v and alpha_s %v", a.Slot, a.AlphaT, a.AlphaS), "expected probabilities from 0 to 1")
		}
		before := a.S
		for j, next := range a.Ahead {
			if !unit(next.T) || !unit(next.Alpha) || next.T > before {
				return l.misuse(fmt.Sprintf("advances slot %d with time %v and alpha %v as step %d ahead, after time %v", a.Slot, next.T, next.Alpha, j+1, before),
					"expected times that fall from 1 to 0 and alphas from 0 to 1")
			}
			before = next.T
		}
	}
	return nil
}
