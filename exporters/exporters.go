// Package exporters takes models to other stacks. A [Target] says what files an export consists of and how the stack that they are
// for answers; [Export] writes them, whole or not at all, and ends by holding that stack's answers against the source's.
package exporters

import (
	"context"
	"errors"
	"time"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Precisions of an export's weights and arithmetic.
const (
	FP32        = "fp32"
	FP16        = "fp16"         // weights and arithmetic in half precision; norms, softmax, rates and outputs in single
	FP16Weights = "fp16-weights" // weights in half precision, arithmetic in single: half the file, and nothing else changes
	BF16        = "bf16"         // weights in bfloat16: files for other programs, target safetensors
	INT8        = "int8"         // matrix products in integers: weights by output channel, activations by tensor, measured as they come
)

// What an export's graph gives.
const (
	HeadNone       = "none"       // logits
	HeadStatistics = "statistics" // proposals and statistics beside the logits: see package exporters/onnx
)

// When an export is verified.
const (
	VerifyAuto = "auto" // where the stack is installed
	VerifyMust = "must" // always: where the stack is missing, there is no export
	VerifyOff  = "off"  // never
)

// Options choose what an export is like. The zero value is that of every target's defaults. The first four are recorded in the export.
type Options struct {
	Precision string `json:"precision,omitempty"` // the target's first ([Info]) where it is empty
	Head      string `json:"head,omitempty"`      // HeadNone where it is empty, but for targets that need the statistics
	Rows      int    `json:"rows,omitempty"`      // B fixed to it; 0: any
	Length    int    `json:"length,omitempty"`    // L fixed to it; 0: any

	Verify   string        `json:"-"` // VerifyAuto where it is empty
	Python   string        `json:"-"` // interpreter that verifies; "": python3 on the path
	Browser  string        `json:"-"` // Chromium that verifies; "": the one on the path
	Timeout  time.Duration `json:"-"` // that verification may take; 0: ten minutes
	Version  string        `json:"-"` // of this program, recorded in the export
	Progress func(string)  `json:"-"` // is told what is going on, a line each; may be nil
}

// Info is what a target says of itself.
type Info struct {
	Name       string   `json:"name"`       // as in --to: "transformers"
	Summary    string   `json:"summary"`    // one line: what is written, for whom
	Stack      string   `json:"stack"`      // what opens it: "transformers 5 with PyTorch 2"
	Needs      []string `json:"needs"`      // what verification needs: "python3 with torch and transformers"
	Options    []string `json:"options"`    // of Options that it takes beside the verifier: "precision", "head", "rows", "length"
	Precisions []string `json:"precisions"` // that it takes, its default first; nil: FP32 alone, and Options need not list "precision"
}

// Filled is the info with the precision that stands for none.
func (i Info) Filled() Info {
	if len(i.Precisions) == 0 {
		i.Precisions = []string{FP32}
	}
	return i
}

// Target is a stack that models are taken to.
type Target interface {
	Info() Info

	// Check refuses a model, or options, that the stack or this target cannot express. The error begins with the model or the option and ends
	// with the alternative, such as another target.
	Check(s *Source, o Options) error

	// Files are the contents of the export by path. Check has passed. Large contents are written as they are made, not gathered.
	Files(ctx context.Context, s *Source, o Options) (wholefile.Files, error)

	// Verify lets the stack answer from the export in dir and compares with the source's [Reference]. The error is [ErrNoStack],
	// wrapped with what is missing, where the stack is not installed, and any other where it refuses the export. It writes nothing into dir.
	Verify(ctx context.Context, s *Source, o Options, dir string) (*Verdict, error)
}

// ErrNoStack says that a stack is not installed here. Exports are then written and said to be unverified.
var ErrNoStack = errors.New("the stack is not installed")

// Verdict is how far a stack's answers are from the source's.
type Verdict struct {
	Stack       string  `json:"stack"`                // what answered, with versions
	Positions   int     `json:"positions"`            // real positions whose logits were compared
	MaxLogit    float64 `json:"max_logit_difference"` // largest absolute difference of a logit; 0 where the export has none
	MaxRate     float64 `json:"max_rate_difference"`  // largest relative difference of an insertion or unmasking rate
	Tokens      int     `json:"tokens"`               // written at temperature 0, one a pass, the most probable first
	TokenErrors int     `json:"tokens_differ"`        // of them, other than the source's
	NearTies    int     `json:"near_ties"`            // of those, where the source's margin is below 1e-5
	Limit       float64 `json:"limit"`                // for MaxLogit, of the reference; an export keeps 0, none, in other precisions than FP32
	Elements    int64   `json:"elements,omitempty"`   // of tensors that were compared bit by bit, for exports that do not compute
}
