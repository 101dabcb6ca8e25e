package plugintest

import (
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Severity says how bad a finding is.
type Severity string

const (
	// Error breaks the contract: a run would end, hang or give wrong samples.
	Error Severity = "error"
	// Warning keeps the contract and will surprise users.
	Warning Severity = "warning"
	// Note is worth knowing.
	Note Severity = "note"
)

// Finding is one thing that a plugin does wrong.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`           // id of the rule
	Problem  string   `json:"problem"`         // what was expected and found, with the row and step that show it
	Fix      string   `json:"fix"`             // what to do
	Again    int      `json:"again,omitempty"` // further places of the same kind
}

// The outcomes of a check.
const (
	Passed  = "passed"
	Failed  = "failed"  // it has findings of severity error or warning
	Skipped = "skipped" // Reason says why it could not be judged, or does not apply
)

// Outcome is what became of one rule.
type Outcome struct {
	Check   string `json:"check"`
	Theme   string `json:"theme"`
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// Latency is how long a planner takes for one step.
type Latency struct {
	Rows   int           `json:"rows"`
	Length int           `json:"length"` // positions of each row
	Calls  int           `json:"calls"`
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"`
}

// Report is everything that was found out about one plugin.
type Report struct {
	Kind     sampling.Kind `json:"kind"`
	Name     string        `json:"name"`
	Version  string        `json:"version,omitempty"`
	Plugin   string        `json:"plugin"` // path, or what it was called
	Seed     uint64        `json:"seed"`
	Quick    bool          `json:"quick,omitempty"`
	Findings []Finding     `json:"findings"`
	Checks   []Outcome     `json:"checks"`
	Latency  []Latency     `json:"latency,omitempty"`
	Starting time.Duration `json:"starting_ns,omitempty"` // from launch to description
	Took     time.Duration `json:"took_ns"`
}

// OK tells whether the report has no finding of severity [Error].
func (r *Report) OK() bool { return r.count(Error) == 0 }

func (r *Report) count(s Severity) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}
