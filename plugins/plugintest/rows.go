package plugintest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func rowChecks() []check {
	calm := []string{"plan", "determinism"}
	one := func(id, text, why string, run func(*session)) check {
		return check{Rule: Rule{id, "rows", text, why, planners}, after: []string{"plan"}, run: run}
	}
	return []check{
		{Rule: Rule{"row-independence", "rows", "A row is decided the same alone, among others, and in another order.", "Samples would depend on the size of the batch.", planners}, after: calm, run: (*session).rowIndependence},
		{Rule: Rule{"slots", "rows", "A row is decided the same in any slot, and in one that another row has left.", "What is kept of a row would steer the next one.", planners}, after: append(calm, "row-independence"), run: (*session).slots},
		one("empty-batch", "A step without rows is answered with no decisions.", "A batch can be done before its pass is.", (*session).emptyBatch),
		one("empty-row", "A row without positions is answered, or refused in good order.", "Windows may be empty.", (*session).emptyRow),
		one("fixed-rows", "A row without a free position is answered with a decision that opens nothing.", "Prompts may fill a row.", (*session).fixedRows),
		one("masked-rows", "Rows that are all masked are answered, one of a single position among them.", "It is how most runs begin.", (*session).maskedRows),
		one("batch-sizes", "1 row and 64 rows are answered.", "Users choose the batch.", (*session).batchSizes),
		one("ragged-rows", "Rows of different lengths are answered in one step.", "Prompts differ.", (*session).raggedRows),
		one("long-row", "A row of 4,096 positions is answered within the deadline.", "Models of that length exist.", (*session).longRow),
		one("not-a-number", "NaN and infinity in statistics are refused in good order, or decided as any other number.", "Models yield them, and the run should end with a reason.", (*session).notANumber),
	}
}

const byRow = "let a row's decision depend on its own statistics alone; what is kept of a row is kept by its index, and begins anew where its index is another or its step is 0"

func (s *session) rowIndependence() {
	rows := s.rows(s.several())
	s.fresh()
	together := s.again("row-independence", "a batch of rows", trial{rows: rows})
	for i, r := range rows {
		s.fresh()
		alone := s.again("row-independence", "a row alone", trial{rows: rows[i : i+1], slot: func(int) int { return i }})
		if alone == nil || s.compare("row-independence", byRow, "decided for the row alone", together, alone, []sampling.Request{r}) {
			return
		}
	}
	s.fresh()
	s.compare("row-independence", byRow, "decided with the rows of the batch in reversed order", together,
		s.again("row-independence", "a batch in reversed order", trial{rows: rows, reverse: true}), rows)
}

func (s *session) slots() {
	rows := s.rows(s.several())
	s.fresh()
	plain := s.again("slots", "a batch of rows", trial{rows: rows})
	s.fresh()
	if s.compare("slots", byRow, "decided with the row in another slot", plain,
		s.again("slots", "rows in other slots", trial{rows: rows, slot: func(slot int) int { return len(rows) - 1 - slot }}), rows) {
		return
	}
	s.fresh()
	s.compare("slots", byRow, "decided in a slot that another row was in before", plain, s.again("slots", "rows that follow each other in two slots", trial{rows: rows, batch: 2}), rows)
}

// scenario asks for one step in a run of its own, blames what goes wrong on the check, and judges the answer.
func (s *session) scenario(check, while string, step *sampling.Step) {
	s.situation(check, while, step, func(err error) { s.blame(check, while, err) })
}

// situation is scenario with something else to do about an answer that is an error. It tells whether the plugin is still there.
func (s *session) situation(check, while string, step *sampling.Step, refuses func(error)) bool {
	s.fresh()
	l, err := s.shared()
	if err == nil {
		_, err = l.Start(s.ctx, s.run)
	}
	if err != nil {
		s.blame(check, "Start before "+while, err)
		return false
	}
	out, err := s.ask(s.ctx, l.Planner, step)
	switch {
	case err == nil:
		for i := range out {
			s.judge(&step.Rows[i], &out[i])
		}
	case troubleOf(err) != refused:
		s.blame(check, while, err)
		return false
	default:
		refuses(err)
	}
	if err := l.End(s.ctx); err != nil {
		s.blame(check, "End after "+while, err)
	}
	return true
}

// made returns the first step of rows; that there is one is the kit's own duty.
func (s *session) made(check string, rows ...sampling.Request) *sampling.Step {
	step, err := s.step(rows)
	if err != nil && s.ctx.Err() == nil {
		s.find(Error, check, "report this: the step is made without the plugin", "no step can be made: %v", err)
	}
	return step
}

func (s *session) emptyBatch() {
	s.scenario("empty-batch", "a step without rows", &sampling.Step{Run: s.run.ID})
}

func (s *session) emptyRow() {
	step := s.made("empty-row", blank(5, 3))
	if step == nil {
		return
	}
	r := &step.Rows[0]
	c := vectors(r)
	*r = sampling.Row{Index: r.Index, Slot: r.Slot, Steps: 1, T: r.T, S: r.S, AlphaT: r.AlphaT, AlphaS: r.AlphaS, K: r.K, V: r.V}
	if c > 0 {
		r.VocabDot = []float32{}
	}
	if s.needs.InsertionRate {
		r.InsertionRate = []float32{0}
	}
	s.scenario("empty-row", "a row without positions", step)
}

// vectors is how many vectors of vocab_dot a row has.
func vectors(r *sampling.Row) int { return len(r.VocabDot) / max(len(r.Token), 1) }

func (s *session) fixedRows() {
	step := s.made("fixed-rows", blank(5, 6), blank(9, 1), blank(12, 4))
	if step == nil {
		return
	}
	for i := range step.Rows[:2] {
		r := &step.Rows[i]
		for j := range r.Token {
			r.Token[j], r.Flags[j] = (maskID+1+int32(j))%vocabulary, sampling.Fixed
		}
		for j := range r.Proposal {
			r.Proposal[j] = -1
		}
		for _, column := range floats(r) {
			clear(*column)
		}
		r.Blanks = 0
	}
	waits := &step.Rows[2] // the second half is masked and waits
	for j := len(waits.Flags) / 2; j < len(waits.Flags); j++ {
		waits.Flags[j] = sampling.Masked
	}
	s.scenario("fixed-rows", "rows without a free position", step)
}

func (s *session) maskedRows() {
	if step := s.made("masked-rows", blank(5, 1), blank(6, 2), blank(7, 24)); step != nil {
		s.scenario("masked-rows", "rows that are all masked", step)
	}
}

func (s *session) batchSizes() {
	for _, n := range []int{1, 64} {
		if step := s.made("batch-sizes", s.rows(n)...); step != nil {
			s.scenario("batch-sizes", fmt.Sprintf("a batch of %d", n), step)
		}
	}
}

func (s *session) raggedRows() {
	rng := rand.New(rand.NewPCG(s.o.Seed, 3))
	if step := s.made("ragged-rows", blank(1, 1), mixed(rng, 2, 33), mixed(rng, 3, 7), blank(4, 2)); step != nil {
		s.scenario("ragged-rows", "rows of 1, 33, 7 and 2 positions", step)
	}
}

func (s *session) longRow() {
	rng := rand.New(rand.NewPCG(s.o.Seed, 4))
	if step := s.made("long-row", mixed(rng, 1, 4096)); step != nil {
		s.scenario("long-row", "a row of 4,096 positions", step)
	}
}

// notANumber puts numbers that are none into every statistic, at one position and at all.
func (s *session) notANumber() {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, all := range []bool{false, true} {
			step := s.made("not-a-number", blank(5, 9), blank(6, 4))
			if step == nil {
				return
			}
			hasAny := false
			for _, column := range floats(&step.Rows[0]) {
				for i := range *column {
					if all || i == len(*column)/2 {
						(*column)[i], hasAny = bad, true
					}
				}
			}
			if !hasAny {
				s.skip("not-a-number", "it asks for no statistics of the model")
				return
			}
			where := map[bool]string{true: "everywhere in a row", false: "at one position of a row"}[all]
			if !s.tolerates("not-a-number", fmt.Sprintf("statistics that are %v %s", bad, where), step) {
				return
			}
		}
	}
}

// tolerates is scenario for steps that may be refused in good order: with an error, which ends the run. It tells whether the plugin is
// still there.
func (s *session) tolerates(check, while string, step *sampling.Step) bool {
	return s.situation(check, while, step, func(err error) {
		if f := answerFault(err); f != nil && !s.failed(f.check) {
			s.find(Error, check, "look for NaN before computing with a statistic: refuse the row with an error, or leave the number out", "%s: expected a decision or an error, found a decision that is none: %s %s", while, said(err), s.seeded())
		}
	})
}
