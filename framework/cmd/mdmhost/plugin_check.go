package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// longestCheck is the longest that an answer may take in a check: no step of it is large.
const longestCheck = 10 * time.Second

func newPluginCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check NAME|PATH|DIR", Short: "Find out whether a plugin keeps the contract, and what to mend",
		Long: "Starts the plugin as a run does and asks it for what runs ask, and for what they ask once a year: no model is needed. The report says\n" +
			"what is wrong, where it shows and what to do; docs/plugins/conformance.md has the rules. Exit status 1: the contract is broken.",
		Example: "  mdmhost plugin check ./my-planner\n  mdmhost plugin check eb --json\n  mdmhost sample --planner ./my-planner --trace t.jsonl --record && mdmhost plugin check ./my-planner --replay t.jsonl",
		Args:    oneArg("name or path of a plugin"),
	}
	s, asJSON := newSettings(c), asJSON(c)
	kind := kindFlag(c)
	settings := c.Flags().String("options", "", "options of the plugin's runs, a `JSON` object such as '{\"k\": 3}'; its defaults where they are not given")
	replay := c.Flags().String("replay", "", "ask the steps of a recorded run again (`TRACE` of mdmhost sample --trace TRACE --record), and compare the answers")
	same := c.Flags().Bool("same", false, "with --replay: answers that differ from the recorded ones are errors, not warnings")
	seed := c.Flags().Uint64("seed", 0, "of the rows and the noise; drawn where it is not given, and in the report")
	quick := c.Flags().Bool("quick", false, "fewer rows and calls, for every change")
	c.RunE = func(c *cobra.Command, args []string) error {
		kind, err := kind()
		if err != nil {
			return err
		}
		if *same && *replay == "" {
			return usagef("--same: expected --replay TRACE beside it")
		}
		cfg, err := s.load()
		if err != nil {
			return err
		}
		o := plugintest.Options{Seed: *seed, Quick: *quick, Same: *same}
		if !c.Flags().Changed("seed") {
			o.Seed = rand.Uint64() >> 11 // short enough for JSON's numbers
		}
		if *settings != "" {
			if o.Settings = []byte(*settings); !json.Valid(o.Settings) {
				return usagef("--options: expected a JSON object, found %s", *settings)
			}
		}
		if *replay != "" {
			if o.Replay, err = recording(*replay); err != nil {
				return err
			}
		}
		launch, err := underCheck(c.Context(), kind, args[0], options(cfg))
		if err != nil {
			return err
		}
		tell, done := progress(time.Now())
		o.Progress = tell
		report, err := plugintest.Check(c.Context(), plugintest.Program(launch), o)
		done()
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, report)
		} else {
			err = report.Print(c.OutOrStdout())
		}
		if err == nil && !report.OK() {
			err = fmt.Errorf("%s %s does not conform; the report says what to do", launch.Kind, args[0])
		}
		return err
	}
	return c
}

// underCheck says how the plugin that a name or path stands for is started. Its log is left out unless somebody debugs it: the report
// tells what matters.
func underCheck(ctx context.Context, kind sampling.Kind, name string, o host.Options) (supervise.Spec, error) {
	if level := o.Plugins.Log; level != "debug" && level != "trace" {
		o.Logger = nil
	}
	o.Plugins.Reattach = "" // processes in a debugger are not to be killed
	o.Deadlines.Call = min(o.Deadlines.Call, longestCheck)
	if p, own, err := firstPartyOf(ctx, kind, name); err != nil {
		return supervise.Spec{}, err
	} else if own {
		return o.Spec(p.Kind, name)
	}
	located, err := o.Locate(kind, name)
	if err != nil {
		return supervise.Spec{}, err
	}
	if kind == "" {
		kind = located.Kind()
	}
	launch, err := o.Command(located, kind, name)
	if err != nil {
		return launch, err
	}
	if _, err := os.Stat(launch.Path); err != nil {
		return launch, usagef("plugin %s: %w; name a binary, or one of `mdmhost plugin list`", name, err)
	}
	return plugintest.Open(ctx, launch)
}

// recording reads the recorded calls of a trace.
func recording(name string) (_ *plugintest.Recording, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("--replay: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := plugintest.ReadRecording(f)
	if err != nil {
		return nil, usagef("--replay %s: %w", name, err)
	}
	return r, nil
}

// progress shows the check that runs, on a terminal and two seconds after the beginning; done wipes it off.
func progress(began time.Time) (tell func(plugintest.Rule, int, int), done func()) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil, func() {}
	}
	const wipe = "\r\x1b[K"
	tell = func(rule plugintest.Rule, at, of int) {
		if time.Since(began) > 2*time.Second {
			fmt.Fprintf(os.Stderr, "%s%d of %d: %s", wipe, at+1, of, rule.ID)
		}
	}
	return tell, func() { fmt.Fprint(os.Stderr, wipe) }
}
