// Command broken is a plugin that is broken in the way that its own file name says: copies and links of it are the fixtures that the
// conformance kit must find fault with. Each file holds one mistake as real authors make it.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// faults are the mistakes, by the name of the file that makes them.
var faults = map[string]func(){
	"acts-as-past":            actsAsPast,
	"answers-too-early":       answersTooEarly,
	"asks-for-more":           asksForMore,
	"asks-without-end":        asksWithoutEnd,
	"averages-its-loss":       averagesItsLoss,
	"bad-schema":              badSchema,
	"catches-sigterm":         catchesSigterm,
	"changes-description":     changesDescription,
	"changes-needs":           changesNeeds,
	"clock-seed":              clockSeed,
	"counts-its-graphs":       countsItsGraphs,
	"default-out-of-bounds":   defaultOutOfBounds,
	"exits-at-fixed":          exitsAtFixed,
	"exits-at-once":           exitsAtOnce,
	"fails-fixed":             failsFixed,
	"few-decisions":           fewDecisions,
	"few-rows":                fewRows,
	"forgot-need":             forgotNeed,
	"ignores-shutdown":        ignoresShutdown,
	"indexes-by-nan":          indexesByNan,
	"inserts":                 inserts,
	"keeps-runs":              keepsRuns,
	"keeps-slots":             keepsSlots,
	"ignores-free":            ignoresFree,
	"shows-clean-tokens":      showsCleanTokens,
	"leaks":                   leaks,
	"leaks-fast":              leaksFast,
	"leaves-blanks":           leavesBlanks,
	"locks-when-cancelled":    locksWhenCancelled,
	"loops-at-nan":            loopsAtNan,
	"loses-lock":              losesLock,
	"loses-rows":              losesRows,
	"map-order":               mapOrder,
	"nameless-metric":         namelessMetric,
	"nan-metric":              nanMetric,
	"never-opens":             neverOpens,
	"no-version":              noVersion,
	"opens-beyond":            opensBeyond,
	"opens-fixed":             opensFixed,
	"opens-none":              opensNone,
	"opens-twice":             opensTwice,
	"opens-waiting":           opensWaiting,
	"opens-written":           opensWritten,
	"other-kind":              otherKind,
	"outlives-its-host":       outlivesItsHost,
	"peeks-at-neighbours":     peeksAtNeighbours,
	"prints-first":            printsFirst,
	"prints-later":            printsLater,
	"protocol-two":            protocolTwo,
	"finishes-early":          finishesEarly,
	"remasks-everything":      remasksEverything,
	"refuses-default":         refusesDefault,
	"remasks-undeclared":      remasksUndeclared,
	"rounds-its-loss":         roundsItsLoss,
	"sampler-of-batches":      samplerOfBatches,
	"sampler-of-random-times": samplerOfRandomTimes,
	"sampler-with-a-clock":    samplerWithAClock,
	"says-nothing":            saysNothing,
	"says-pure":               saysPure,
	"slow-in-long-rows":       slowInLongRows,
	"sound":                   sound,
	"sound-rows":              soundRows,
	"sound-sampler":           soundSampler,
	"sound-trainer":           soundTrainer,
	"stops-at-empty":          stopsAtEmpty,
	"stops-gradients":         stopsGradients,
	"takes-any-option":        takesAnyOption,
	"takes-any-slot":          takesAnySlot,
	"takes-any-type":          takesAnyType,
	"takes-any-value":         takesAnyValue,
	"writes-beyond":           writesBeyond,
	"writes-mask":             writesMask,
}

func main() {
	name := filepath.Base(os.Args[0])
	serve, ok := faults[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no fault %q; link this program to one of %v\n", name, slices.Sorted(maps.Keys(faults)))
		os.Exit(2)
	}
	serve()
}
