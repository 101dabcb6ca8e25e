package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mdmhost/mdmhost/framework/insertion/exact"
)

// exactModel writes the exact insertion model of a law over twelve strings of up to four letters, with a longest row: exactmodel DIR 6.
func exactModel(ts *testscript.TestScript, neg bool, args []string) {
	longest := 0
	if neg || len(args) != 2 {
		ts.Fatalf("usage: exactmodel DIR LONGEST")
	}
	_, err := fmt.Sscan(args[1], &longest)
	ts.Check(err)
	law := exact.Toy()
	ts.Check(law.Save(ts.MkAbs(args[0]), longest, 1))
}

// exactLaw checks that the rows of a JSONL file follow the law of exactmodel, lengths included, as closely as steps and chance let them:
// exactlaw FILE 0.03. The false-alarm rate is 10^-8 where the total variation in the limit of many rows is below what is given.
func exactLaw(ts *testscript.TestScript, neg bool, args []string) {
	most := 0.0
	if neg || len(args) != 2 {
		ts.Fatalf("usage: exactlaw FILE TOTAL_VARIATION")
	}
	_, err := fmt.Sscan(args[1], &most)
	ts.Check(err)
	var rows [][]int32
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var r struct{ Tokens []int32 }
		ts.Check(json.Unmarshal([]byte(line), &r))
		rows = append(rows, r.Tokens)
	}
	law := exact.Toy()
	tv, lengths, chance := law.Distance(rows)
	if tv > most+chance || lengths > most+chance {
		ts.Fatalf("%s: %d rows have total variation %.3f from the law, their lengths %.3f; expected at most %.3f", args[0], len(rows), tv, lengths, most+chance)
	}
	ts.Logf("total variation %.3f, of lengths %.3f", tv, lengths)
}
