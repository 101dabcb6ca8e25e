package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mdmhost",
		Short: "Sample from masked diffusion models",
		Long: "mdmhost samples from masked diffusion models: denoisers run in ONNX Runtime, planners and samplers in processes of\n" +
			"their own, and one configuration chooses all of them.",
		Example:       "  mdmhost sample\n  mdmhost sample --infill 'CC(=O)Nc1ccc([MASK])cc1' --planner eb --num 4",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newSample(), newMerge(), newTrain(), newData(), newArtifacts(), newEval(), newScore(), newModel(), newExport(), newImport(), newPull(), newRuntime(), newConfig(), newPlugin(), newBench(), newTrace(), newServe(), newVersion())
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	return root
}

// newHelp is cobra's own, with an error for commands that are not there.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("%s: unknown command %q", c.CommandPath(), strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// usage is an error of how the command was called.
type usage struct{ error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// report prints the error, if there is one, and returns the exit code.
func report(c *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "mdmhost:", err)
	if !isUsage(err) {
		return 1
	}
	fmt.Fprintf(os.Stderr, "Try: %s --help\n", c.CommandPath())
	return 2
}

// isUsage tells whether the user must change the call or the configuration.
func isUsage(err error) bool {
	var (
		call     usage
		problems config.Problems
		refused  *results.Refused
		input    *results.InputError
		coded    *sampling.Error
		export   *exporters.Refused
	)
	return errors.As(err, &call) || errors.As(err, &problems) || errors.As(err, &refused) || errors.As(err, &export) || errors.As(err, &input) ||
		(errors.As(err, &coded) && coded.Code == sampling.InvalidConfig)
}

// flagError adds the nearest flag to the message of an unknown one.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage{err}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest.Word(unknown.GetSpecifiedName(), names); near != "" {
		return usagef("%w; did you mean --%s?", err, near)
	}
	return usage{err}
}

// noArgs refuses arguments; for a command with subcommands it names the nearest of them.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(names) > 0 {
		return usagef("%s: unknown command %q%s", c.CommandPath(), args[0], nearest.DidYouMean(args[0], names))
	}
	return usagef("%s: expected no arguments, found %s", c.CommandPath(), strings.Join(args, " "))
}

// oneArg asks for exactly one argument, called what in the message.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s: expected one %s, found %d", c.CommandPath(), what, len(args))
		}
		return nil
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error {
		c.SetOut(c.ErrOrStderr()) // standard output is for what was asked for
		_ = c.Help()
		return usagef("%s: expected a command", c.CommandPath())
	}}
	c.AddCommand(subs...)
	return c
}

// printJSON writes v to standard output, indented.
func printJSON(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// asJSON adds the flag --json and returns its value.
func asJSON(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "print JSON") }
