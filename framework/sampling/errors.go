package sampling

import "fmt"

// Code is the fixed vocabulary of plugin errors.
type Code string

// The codes of protocol version 1.
const (
	InvalidConfig       Code = "INVALID_CONFIG"
	UnsupportedProtocol Code = "UNSUPPORTED_PROTOCOL"
	ContractViolation   Code = "CONTRACT_VIOLATION"
	Timeout             Code = "TIMEOUT"
	Exhausted           Code = "EXHAUSTED"
	Crashed             Code = "CRASHED"
	Internal            Code = "INTERNAL"
)

// Error is a failure with a code. Object is what failed ("planner eb", "planner ./mine, row 3"), Problem what was
// expected and found, Hint what to do.
type Error struct {
	Code                  Code
	Object, Problem, Hint string
	Err                   error // the cause, or nil
}

// Error reads "object: CODE: problem; hint".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %s", e.Object, e.Code, e.Problem)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
