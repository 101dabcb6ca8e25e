// Package engine samples rows for many at once: rows of different requests share the forward passes of one host, first done first out.
//
// A lane is a host for one model, planner, sampler and the settings that its statistics head depends on; what may differ from row to row
// (temperature, truncation, steps, length, seed) does not make another. Lanes are opened when they are asked for, and the one that was
// idle longest is closed where there are too many. A generation is the set of lanes of one configuration: a reload opens a new one
// beside the old, which ends with its last row.
package engine

import (
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Question is what a client asks for, as it came.
type Question struct {
	Model string             // one of those that the configuration serves; "": the first
	Ask   []results.Question // prompts, texts with blanks, or tokens; Num rows of each
	Num   int
	Seed  *uint64 // nil: drawn. Rows are those of `mdmhost sample` with that seed and the same questions

	// Settings are of the sections planner, sampler and sampling, or steps or length, by their dotted keys, as strong as flags of the
	// command line. Flag is how the client calls one, such as "planner.options.gamma", for messages.
	Settings []config.Assignment

	Steps bool // Answer has events of steps, not only of rows
}

// Event is one piece of news of a row.
type Event struct {
	Row  int // from 0, in the order of the questions
	Step *Step
	Done *results.Row // the row's end; its Index is Row
	Err  error        // with Done: why the row failed, which is Done.Error
}

// Step is a row after one of its steps. A reader that is late gets the latest one alone: each is whole.
type Step struct {
	Step, Steps, NFE int              // the step that was just done, from 0
	Tokens           []int32          // [L] the mask id where masked
	Flags            []sampling.Flags // [L]
	Guess            []int32          // [L] what the model would write at masked positions, -1 where it was not asked: provisional
	Opened           []int32          // positions that this step wrote
	Remasked         []int32          // positions that it masked again
}

// ModelInfo is a served model.
type ModelInfo struct {
	Name      string
	Insertion bool
	Planner   string // by default, with its options
	Sampler   string
	Provider  string // of the lane with the defaults, such as "onnx/cpu, 2 threads"
	V         int
	MaxLength int // most positions of a row; 0: unknown
	MaskText  string
	Blank     string              // a symbol that is a blank, too, in texts of /v1/infill; "": none
	Grid      *sampling.TraceGrid // that positions are laid out in, nil: none
	Examples  []string            // texts that the model's own directory gives
	Digest    string
	Opened    time.Time
}
