package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

// byHand answers somebody who started a plugin without the host, and returns the exit status. args are all arguments of the
// process.
func byHand(d sampling.Description, broken error, args []string, stdout, stderr io.Writer) int {
	if broken != nil {
		fmt.Fprintln(stderr, broken)
		return 1
	}
	self, args := invocation(d, args)
	answer, out, status := explain, stderr, 1
	switch {
	case len(args) == 0: // nobody asked
	case len(args) == 1 && args[0] == "describe":
		answer, out, status = describeJSON, stdout, 0
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help"):
		out, status = stdout, 0
	default:
		fmt.Fprintf(stderr, "%s %s: unknown arguments %q; expected describe, %s or --help\n", d.Kind, d.Name, args, DebugFlag)
		return 2
	}
	if err := answer(out, d, self); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return status
}

// invocation returns how the host is told of this plugin, and the arguments after the program's own.
func invocation(d sampling.Description, args []string) (string, []string) {
	if len(args) >= 4 && args[1] == wire.SelfCommand { // one of the host's own
		return d.Name, args[4:]
	}
	path := args[0]
	if !strings.ContainsRune(path, os.PathSeparator) { // found in PATH
		if self, err := os.Executable(); err == nil {
			path = self
		}
	}
	return path, args[1:]
}

// describeJSON writes what `mdmhost plugin info --json` says.
func describeJSON(out io.Writer, d sampling.Description, _ string) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	needs := d.Needs.List()
	if needs == nil {
		needs = []string{}
	}
	return e.Encode(map[string]any{
		"kind": d.Kind, "name": d.Name, "version": d.Version, "protocol": wire.Version, "summary": d.Summary, "needs": needs,
		"options": json.RawMessage(d.OptionsSchema), "can_remask": d.CanRemask, "can_insert": d.CanInsert, "adaptive": d.Adaptive,
	})
}

// explain says in words what the plugin is and how it is used.
func explain(out io.Writer, d sampling.Description, self string) error {
	all, err := options.Describe(d.OptionsSchema)
	if err != nil {
		return fmt.Errorf("%s %s: %w", d.Kind, d.Name, err)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s %s %s", d.Kind, d.Name, d.Version)
	if d.Summary != "" {
		fmt.Fprintf(w, ": %s", d.Summary)
	}
	command := "sample"
	if d.Kind == sampling.KindTrainer {
		command = "train"
	}
	run := fmt.Sprintf("mdmhost %s --%s %s", command, d.Kind, self)
	fmt.Fprintf(w, "\n\nIt is a plugin of mdmhost, which starts it:\n  %s\n", run)
	if len(all) > 0 {
		fmt.Fprintf(w, "  %s --set %s.%s=%s\n\noptions\n", run, d.Kind, all[0].Name, example(all[0]))
	}
	for _, o := range all {
		fmt.Fprintf(w, "  %s.%s\t%s\n", d.Kind, o.Name, o)
	}
	if needs := d.Needs.List(); len(needs) > 0 {
		fmt.Fprintf(w, "\nneeds\n  %s\n", strings.Join(needs, ", "))
	}
	fmt.Fprint(w, "\narguments\n  describe\tprints all this as JSON\n  "+DebugFlag+"\tserves until Ctrl-C, for a debugger, and prints the line by which mdmhost finds it\n  --help\tprints this\n")
	return w.Flush()
}

// example is a value that the option takes, as a shell takes it.
func example(o options.Description) string {
	text := strings.Trim(o.Default, `"`)
	switch {
	case text == "":
		return "VALUE"
	case strings.ContainsAny(text, "[]{} *?'\"$"):
		return "'" + text + "'"
	}
	return text
}
