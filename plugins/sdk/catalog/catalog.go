// Package catalog lists what planners and samplers see and what planners may answer, for documentation and for tools: every
// statistic that they may ask for, every fact that a row always carries, every verb of a decision. Its tests hold it against the
// protocol and the kit, so that neither gains anything that is not listed here.
//
// Shapes are per row: n positions of the row's window, K candidates, C vocabulary vectors, V tokens.
package catalog

// Column is a list of numbers of one row.
type Column struct {
	Name  string // in the protocol and in Python, such as "logp_proposal"
	Field string // of sdk.Row, such as "LogpProposal"
	Type  string // of one number: int32, int64, uint8, float32 or float64
	Shape string // such as "[n]" or "[n, K]"; "" where it is one number
	Unit  string // such as "nats"; "" where it has none
	Help  string // one line
}

// Form is one way of asking for a statistic.
type Form struct {
	Need string // as needs are written and listed, such as "entropy(on=sampling)"
	Go   string // the function of package sdk, such as "EntropySampling"
	Help string // what this form is of; "" where there is one form
}

// Statistic is something that the host computes where somebody asks for it, and not otherwise.
type Statistic struct {
	Name    string   // such as "entropy"
	Needs   []string // fields of the protocol's message Needs that ask for it
	Forms   []Form   // the first is what the bare name means
	Columns []Column // what comes
	Host    string   // what the run, the model or the runtime must have for it; "" where nothing
	Help    string
}

// Verb is something that a decision may do to a row.
type Verb struct {
	Name   string   // in Python, such as "open"
	Go     string   // the signature in Go
	Python string   // the signature in Python
	Fields []string // of the protocol's message Decision
	Allows string   // what the plugin must say of itself or run with; "" where nothing
	Help   string
}
