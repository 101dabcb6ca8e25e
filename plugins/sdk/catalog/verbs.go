package catalog

// Verbs returns what a decision may say of a row, in the order in which the host applies it. Positions and gaps are those before
// the step; a verb may be said several times, and verbs may be combined.
func Verbs() []Verb {
	return []Verb{
		{"open", "Open(ps Positions)", "open(positions)", []string{"open"}, "", "write the host's proposals at masked positions"},
		{"overwrite", "Overwrite(position int, token int32), OverwriteWith(ps Positions, token func(i int) int32)", "overwrite(positions, tokens)",
			[]string{"overwrite_position", "overwrite_token"}, "can_remask, at written positions", "put tokens of the planner's own choice there"},
		{"fill", "Fill(f sampling.Fill)", "fill(how)", []string{"fill"}, "",
			`open every eligible position at once: with the most probable token (in Python "argmax") or with the proposal ("draw")`},
		{"remask", "Remask(ps Positions)", "remask(positions)", []string{"remask"}, "can_remask", "mask written positions again"},
		{"delete", "Delete(ps Positions)", "delete(positions)", []string{"delete"}, "can_insert and an insertion model", "take positions out of the row"},
		{"insert", "Insert(gap, count int)", "insert(gaps, counts)", []string{"insert_gap", "insert_count"}, "can_insert and an insertion model",
			"put count masks into a gap: gap g lies before position g, gap n behind the last"},
		{"refused", "Refused(count int)", "refused(count)", []string{"refused"}, "can_insert and an insertion model",
			"say that count masks more would have been inserted if the row had had room: it ends with finish length"},
		{"act_as", "ActAs(step int)", "act_as(step)", []string{"acted_as"}, "",
			"say that the steps before the given one would have changed nothing, so that they cost no forward pass"},
		{"next_t", "NextT(t float64)", "next_t(t)", []string{"next_t"}, "", "go on at a time of the planner's choice, from 0 to 1"},
		{"done", "Done()", "done()", []string{"done"}, "", "finish the row, even with masks left"},
		{"go_on", "GoOn()", "go_on()", []string{"go_on"}, "", "keep a row whose last mask is opened, while it has steps: for planners that revise full rows"},
		{"metric", "Metric(name string, value float64)", "metric(name, value)", []string{"metrics"}, "", "record a finite number of the planner's own for traces"},
	}
}
