package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/scaffold"
)

func newPluginNew() *cobra.Command {
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the project of a new plugin",
		Long: "Write the project of a new plugin: a plugin that works, its tests, a manifest, a script for CI. It needs nothing but Go 1.26, or\n" +
			"Python 3.10 or newer; the kit lies in it. The folder appears as a whole or not at all.",
		Example: `  mdmhost plugin new my-planner
  cd my-planner && go build
  mdmhost sample --planner ./my-planner

  mdmhost plugin new my-planner --lang python
  cd my-planner && ./setup
  mdmhost sample --planner ./my-planner

  mdmhost plugin new my-sampler --kind sampler
  mdmhost plugin new my-trainer --kind trainer --lang python --dir plugins/my-trainer`,
		Args: oneArg("name"),
	}
	f := c.Flags()
	kind := f.String("kind", "planner", "`KIND`: planner, sampler or trainer")
	language := f.String("lang", scaffold.Go, "`LANGUAGE`: go or python")
	for flag, words := range map[string][]string{"kind": {"planner", "sampler", "trainer"}, "lang": scaffold.Languages} {
		if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag was just made
		}
	}
	dir := f.String("dir", "", "new `FOLDER` of the project; the plugin's name if empty")
	c.RunE = func(c *cobra.Command, args []string) error {
		p := scaffold.Project{Name: args[0], Kind: sampling.Kind(*kind), Language: *language, Dir: *dir}
		if err := p.Check(); err != nil {
			return usagef("%w", err)
		}
		written, err := p.Write()
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.OutOrStdout(), p.Summary(written))
		return err
	}
	return c
}
