package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newPluginVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify [NAME|PATH...]", Short: "Compare plugins with their SHA256SUMS and with mdmhost.lock",
		Long:    "Compare plugins with their SHA256SUMS and with mdmhost.lock: all that are found by name or locked, or the named ones.",
		Example: "  mdmhost plugin verify\n  mdmhost plugin verify my-planner --json",
	}
	s, asJSON := newSettings(c), asJSON(c)
	c.ValidArgsFunction = completeInstalled
	c.RunE = func(c *cobra.Command, args []string) error {
		places, err := s.places()
		if err != nil {
			return err
		}
		all, err := survey(places, args)
		if err != nil {
			return err
		}
		if err := printVerified(c, *asJSON, all); err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Fprintln(os.Stderr, "no plugin is installed or locked here")
		}
		for _, i := range all {
			if i.Problem != "" {
				return errors.New("a plugin is not what it should be and would not be started")
			}
		}
		return nil
	}
	return c
}

func printVerified(c *cobra.Command, asJSON bool, all []*installed) error {
	if !asJSON {
		printStatuses(c.OutOrStdout(), all)
		return nil
	}
	list := []listedPlugin{}
	for _, i := range all {
		list = append(list, i.listed())
	}
	return printJSON(c, list)
}
