package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newPluginRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove an installed plugin and its entry in mdmhost.lock",
		Example: "  mdmhost plugin remove my-planner\n  mdmhost plugin remove my-planner --user",
		Args:    oneArg("name of a plugin"),
	}
	s := newSettings(c)
	user := c.Flags().Bool("user", false, "remove it from the user's own folder")
	c.ValidArgsFunction = completeInstalled
	c.RunE = func(c *cobra.Command, args []string) error {
		home, err := s.home(*user)
		if err != nil {
			return err
		}
		if err := home.Remove(args[0]); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "removed %s\n", args[0])
		return nil
	}
	return c
}
