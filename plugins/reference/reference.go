package reference

import (
	"io"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// chapters are the parts of the reference behind the tables, one for each kind of plugin.
var chapters = []struct{ kind, title, text string }{
	{"planner", "Planners", "Which one to take when is the matter of [docs/planners.md](../planners.md); how they are made, of the [gallery](gallery.md)."},
	{"sampler", "Samplers", "A sampler owns the trajectory: which rows step when, at which times, with how many forward passes."},
	{"trainer", "Trainers", "A trainer writes the graphs of a training run."},
}

// Write writes the whole reference: needs, decisions, the plugins given and the protocol.
func Write(w io.Writer, plugins []Plugin) error {
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	parts := []func(io.Writer) error{
		text(strings.ReplaceAll(opening, "VERSION", strconv.Itoa(wire.Version))),
		text("## Statistics: what a plugin may need\n\n" + statistics), Needs,
		text("## Verbs: what a planner may decide\n\n" + verbs), Decisions,
	}
	for _, c := range chapters {
		parts = append(parts, text("## "+c.title+"\n\n"+c.text+"\n\n"))
		for _, p := range plugins {
			if p.Kind == c.kind {
				parts = append(parts, func(w io.Writer) error { return p.Write(w, 3) })
			}
		}
	}
	for _, part := range append(parts, Protocol) {
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

const opening = `<!-- Written by ` + "`mdmhost plugin docs`" + ` from the kits, the plugins' schemas and plugin.proto. To change it, change those, then run ./dev generate. -->

# Reference of plugins

Protocol version VERSION. Parts: [statistics](#statistics-what-a-plugin-may-need), [verbs](#verbs-what-a-planner-may-decide), [planners](#planners), [samplers](#samplers),
[trainers](#trainers), and the protocol itself: [services](#services), [messages](#messages), [enumerations](#enumerations).
` + "`mdmhost plugin docs NAME`" + ` writes one plugin's part, yours as well. To learn by doing, begin with the [guide](guide.md).

`

const statistics = `The host computes what somebody needs and nothing else. A plugin declares the largest set that its options can ask for, and at the
start of a run the set that these options do ask for. Shapes are per row: n positions of the row's window, K candidates, C vocabulary vectors, V tokens.
Logarithms are natural. At fixed positions, and at written ones where the planner cannot remask, statistics are 0 and the proposal is -1.

`

const verbs = `A decision is one for each row. The host checks it, then applies in this order: overwrite and open, remask, delete, insert.
Positions are indices into the row's window and mean the state before the step. New masks wait one step. A decision without verbs changes nothing.

`
