package sdk

import (
	"runtime/debug"
	"strings"
)

// stackOfPanic is the stack of the goroutine that panics, from where it did up to the call of the host, for a deferred function.
func stackOfPanic() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	frames := lines[1:] // two lines each
	for i := len(frames) - 1; i >= 0; i-- {
		if strings.HasPrefix(frames[i], "panic(") && i+2 <= len(frames) {
			frames = frames[i+2:]
			break
		}
	}
	for i, f := range frames {
		if strings.HasPrefix(f, "google.golang.org/grpc.") || strings.HasPrefix(f, "github.com/mdmhost/mdmhost/plugins/proto/") {
			frames = frames[:i]
			break
		}
	}
	return strings.Join(append(lines[:1:1], frames...), "\n")
}

// lineOf is the author's line in such a stack, as " (main.go:28)"; "" where there is none.
func lineOf(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "runtime.") || strings.HasPrefix(lines[i], "github.com/mdmhost/mdmhost/plugins/sdk.") {
			continue // on the way from the author's line to the panic
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return " (" + place[strings.LastIndexAny(place, `/\`)+1:] + ")"
	}
	return ""
}
