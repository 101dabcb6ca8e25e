package graph

import "runtime"

// Helper marks the calling function as one that writes graphs for others: a mistake is told at the line of its caller, as
// with testing.T.Helper.
func (b *Builder) Helper() {
	var pc [1]uintptr
	if runtime.Callers(2, pc[:]) == 0 {
		return
	}
	if b.helpers == nil {
		b.helpers = map[string]bool{}
	}
	f, _ := runtime.CallersFrames(pc[:]).Next()
	b.helpers[f.Function] = true
}
