package main

import "github.com/spf13/cobra"

func newPluginLock() *cobra.Command {
	c := &cobra.Command{
		Use: "lock [NAME|PATH...]", Short: "Accept plugins as they are now and pin them in mdmhost.lock",
		Long: "Accept plugins as they are now: write their SHA256SUMS anew and pin them in mdmhost.lock. Without names, all that the\n" +
			"project has installed or pinned. A path pins a plugin that is not installed; then it is checked, too.",
		Example: "  mdmhost plugin lock my-planner\n  mdmhost plugin lock ./my-planner",
	}
	s, asJSON := newSettings(c), asJSON(c)
	c.ValidArgsFunction = completeInstalled
	c.RunE = func(c *cobra.Command, args []string) error {
		places, err := s.places()
		if err != nil {
			return err
		}
		all, err := places.Relock(args)
		if err != nil {
			return err
		}
		return printVerified(c, *asJSON, statuses(all))
	}
	return c
}
