package catalog

// Statistics returns everything that needs can name, in the protocol's order. At fixed positions, and at written ones where the
// planner cannot remask, statistics are 0 and the proposal is -1.
func Statistics() []Statistic {
	return []Statistic{
		single("proposal", "Proposal", Column{Field: "Proposal", Type: "int32", Shape: "[n]"},
			"the token that the host drew for every free position, written ones included; -1 where it drew none"),
		{Name: "logp_proposal", Needs: []string{"logp_proposal"}, Forms: []Form{
			{"logp_proposal(on=model)", "LogpProposal", "softmax(logits), before temperature and truncation"},
			{"logp_proposal(on=tempered)", "LogpProposalTempered", "softmax(logits / temperature)"},
			{"logp_proposal(on=sampling)", "LogpProposalSampling", "what the proposal was drawn from: after temperature, top-k, top-p and min-p"},
			{"logp_proposal(on=noised)", "LogpProposalNoised", "softmax(logits / temperature + the Gumbel noise of the draw); needs sampling.draw gumbel"},
		}, Columns: []Column{{"logp_proposal", "LogpProposal", "float32", "[n]", "nats", "log-probability of the proposal"}},
			Help: "log-probability of the proposal; at temperature 0 all forms are the model's"},
		{Name: "p1", Needs: []string{"p1", "peaks_on"}, Forms: peaks("p1", "P1"),
			Columns: []Column{{"p1", "P1", "float32", "[n]", "probability", "the largest probability"}},
			Help:    "the largest probability of a position; of the same distribution as p2"},
		{Name: "p2", Needs: []string{"p2", "peaks_on"}, Forms: peaks("p2", "P2"),
			Columns: []Column{{"p2", "P2", "float32", "[n]", "probability", "the second largest probability; 0 where truncation leaves one token"}},
			Help:    "the second largest probability of a position; of the same distribution as p1"},
		{Name: "entropy", Needs: []string{"entropy"}, Forms: []Form{
			{"entropy(on=model)", "Entropy", "softmax(logits), before temperature and truncation"},
			{"entropy(on=sampling)", "EntropySampling", "what proposals are drawn from: after temperature, top-k, top-p and min-p"},
		}, Columns: []Column{{"entropy", "Entropy", "float32", "[n]", "nats", "entropy of the position"}},
			Help: "entropy of the position's distribution; at temperature 0 both forms are the model's"},
		single("logp_current", "LogpCurrent", Column{Field: "LogpCurrent", Type: "float32", Shape: "[n]", Unit: "nats"},
			"log-probability, now, of the token that a written position holds; 0 at masked positions"),
		needing("a runtime that keeps memory between steps", single("kl_prev", "KLPrev", Column{Field: "KLPrev", Type: "float32", Shape: "[n]", Unit: "nats"},
			"KL(p now || p in the row's step before); inf in a row's first step")),
		needing("a network of the planner's own: `--set planner.network=DIR`", single("planner_score", "PlannerScore", Column{Field: "PlannerScore", Type: "float32", Shape: "[n]", Unit: "log-score"},
			"how much a token deserves to stand: the planner's own network, which the host runs on the row with its proposals filled in")),
		single("uniform", "Uniform", Column{Field: "Uniform", Type: "float64", Shape: "[n]"},
			"fresh uniform noise in (0, 1), by the run's seed, the row, the step and the position"),
		single("gumbel", "Gumbel", Column{Field: "Gumbel", Type: "float64", Shape: "[n]"},
			"fresh standard Gumbel noise, -ln(-ln u), by the run's seed, the row, the step and the position"),
		{Name: "topk", Needs: []string{"topk"}, Forms: []Form{{"topk(K)", "TopK", "K is a whole number of at least 1"}}, Columns: []Column{
			{"top_ids", "TopIDs", "int32", "[n, K]", "", "the tokens, most probable first; -1 where fewer can be"},
			{"top_logp", "TopLogp", "float32", "[n, K]", "nats", "their log-probabilities under the model; -inf where top_ids is -1"},
			{"k", "K", "int32", "", "", "K, which may be more than the plugin asked for"},
		}, Help: "the K most probable tokens of each position"},
		{Name: "vocab_dot", Needs: []string{"vocab_dot"}, Forms: []Form{{"vocab_dot(C)", "VocabDot", "C vectors of V numbers, which come with the need"}},
			Columns: []Column{{"vocab_dot", "VocabDot", "float32", "[C, n]", "", "one list of n for each vector"}}, Host: "a runtime that takes C vectors",
			Help: "sum_v p_v c_v of the model's distribution p with each vector c"},
		insertion(single("insertion_rate", "InsertionRate", Column{Field: "InsertionRate", Type: "float32", Shape: "[n+1]", Unit: "per unit of the clock"},
			"multiplier of each gap, 0 where it is frozen; gap g lies before position g, gap n behind the last"),
			Column{"gap_uniform", "GapUniform", "float64", "[n+1]", "", "fresh noise in (0, 1) per gap, where uniform is needed, too"}),
		insertion(single("unmask_rate", "UnmaskRate", Column{Field: "UnmaskRate", Type: "float32", Shape: "[n]", Unit: "per unit of the clock"},
			"learned unmasking rate: 1 where the model learned none, 0 where nothing is masked")),
		insertion(single("frozen_gap", "FrozenGap", Column{Field: "FrozenGap", Type: "uint8", Shape: "[n+1]"}, "1 where a gap may not grow")),
		needing("a model whose attention can be told what a position sees", single("logp_leave_one_out", "LogpLeaveOneOut", Column{Field: "LogpLeaveOneOut", Type: "float32", Shape: "[n]", Unit: "nats"},
			"log-probability of the token that a written position holds, where the position cannot see it; 0 at masked positions. Rows run at twice their length")),
		{Name: "logits", Needs: []string{"logits"}, Forms: []Form{{"logits", "Logits", ""}}, Columns: []Column{
			{"logits", "Logits", "float32", "[n, V]", "nats, up to a constant", "before edits and suppression"},
			{"v", "V", "int32", "", "", "V, the width of the logits"},
		}, Help: "all logits of the row, through shared memory: for what no other statistic says"},
	}
}

// single is a statistic of one form and one column, all of one name.
func single(name, function string, c Column, help string) Statistic {
	c.Name, c.Help = name, help
	return Statistic{Name: name, Needs: []string{name}, Forms: []Form{{name, function, ""}}, Columns: []Column{c}, Help: help}
}

func needing(host string, s Statistic) Statistic {
	s.Host = host
	return s
}

// insertion is a statistic that models whose rows grow give.
func insertion(s Statistic, more ...Column) Statistic {
	s.Columns = append(s.Columns, more...)
	return needing("an insertion model", s)
}

// peaks are the forms of the two largest probabilities, which are of one distribution.
func peaks(name, function string) []Form {
	return []Form{
		{name, function, "softmax(logits), before temperature and truncation"},
		{name + "(on=tempered)", function + ", PeaksTempered", "softmax(logits / temperature)"},
		{name + "(on=sampling)", function + ", PeaksSampling", "what proposals are drawn from: after temperature, top-k, top-p and min-p"},
	}
}

// Facts returns what every row carries, asked for or not. Those with a shape are indexed by position, the others are one number.
func Facts() []Column {
	return []Column{
		{"index", "Index", "int64", "", "", "number of the row in the run, which keys its noise"},
		{"slot", "Slot", "int32", "", "", "where the row lives in the batch; another row's when this one is finished"},
		{"offset", "Offset", "int32", "", "positions", "first position of the window in the whole row"},
		{"n", "", "int32", "", "positions", "length of the window: in Go, len(Token)"},
		{"blanks", "Blanks", "int32", "", "positions", "positions of the window that were masked when it was first reached"},
		{"step", "Step", "int32", "", "", "steps done in the window, from 0"},
		{"steps", "Steps", "int32", "", "", "steps allowed in the window; only a cap for adaptive planners"},
		{"t", "T", "float64", "", "", "time before the step; it runs from 1, all masked, to 0"},
		{"s", "S", "float64", "", "", "time after the step"},
		{"alpha_t", "AlphaT", "float64", "", "probability", "that a token is clean at t"},
		{"alpha_s", "AlphaS", "float64", "", "probability", "that a token is clean at s"},
		{"length", "Length", "int32", "", "positions", "of the whole row"},
		{"behind", "Behind", "int32", "", "positions", "masked ones behind the window, which later blocks open"},
		{"room", "Room", "int32", "", "positions", "by which the row may still grow: insertion models"},
		{"token", "Token", "int32", "[n]", "", "what the row holds: token ids, the mask's where masked"},
		{"flags", "Flags", "uint8", "[n]", "", "bits: 1 masked, 2 fixed (prompt and padding, never to be touched), 4 eligible (masked, and may be opened in this step)"},
	}
}
