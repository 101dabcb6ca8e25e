package sdk

import (
	"strings"
	"testing"
)

// The stack begins where the panic was, and has nothing of what caught it.
func TestStackOfPanic(t *testing.T) {
	var stack string
	func() {
		defer func() {
			_ = recover()
			stack = stackOfPanic()
		}()
		planOddly(nil)
	}()
	lines := strings.Split(stack, "\n")
	if !strings.HasPrefix(lines[0], "goroutine ") || !strings.Contains(lines[1], "planOddly") || !strings.Contains(lines[2], "stack_test.go:") || strings.Contains(stack, "debug.Stack") {
		t.Errorf("%s", stack)
	}
}

//go:noinline
func planOddly(row []int) { row[3]++ }
