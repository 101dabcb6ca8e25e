package sdk

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// byHand answers somebody who started a plugin without the host, and returns the exit status.
func byHand(d sampling.Description, broken error, args []string, stdout, stderr io.Writer) int {
	if broken != nil {
		fmt.Fprintln(stderr, broken)
		return 1
	}
	if len(args) > 0 && args[len(args)-1] == "describe" {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		err := e.Encode(map[string]any{
			"kind": d.Kind, "name": d.Name, "version": d.Version, "protocol": wire.Version, "summary": d.Summary, "needs": d.Needs.List(),
			"options": json.RawMessage(d.OptionsSchema), "can_remask": d.CanRemask, "can_insert": d.CanInsert, "adaptive": d.Adaptive,
		})
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	}
	command := "sample"
	if d.Kind == sampling.KindTrainer {
		command = "train"
	}
	fmt.Fprintf(stderr, "%s %s is a plugin of mdmhost, which starts it: mdmhost %s --%s PATH-OF-THIS-FILE\nTo see what it does: run it with the argument `describe`. To look at it in a debugger: start it with --debug.\n",
		d.Kind, d.Name, command, d.Kind)
	return 1
}
