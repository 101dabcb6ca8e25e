package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

func newPluginInstall() *cobra.Command {
	c := &cobra.Command{
		Use: "install [SOURCE]", Short: "Install a plugin and pin it in mdmhost.lock",
		Long: "Install a plugin from a folder, a .tar.gz or an OCI image layout into .mdmhost/plugins of the project (the nearest folder\n" +
			"from here upwards that has a mdmhost.lock or a .mdmhost, else this one), and pin it in mdmhost.lock. If it brings a setup,\n" +
			"that program is run. Without SOURCE, what mdmhost.lock pins and is not there is installed from where it came.",
		Example: "  mdmhost plugin install ./my-planner\n  mdmhost plugin install my-planner-0.1.0.tar.gz --user\n  mdmhost plugin install oci:./layout:0.1.0",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s: expected at most one source, found %d", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	s, asJSON := newSettings(c), asJSON(c)
	user := c.Flags().Bool("user", false, "install into the user's own folder, for all projects")
	force := c.Flags().Bool("force", false, "replace another version")
	c.RunE = func(c *cobra.Command, args []string) error {
		home, err := s.home(*user)
		if err != nil {
			return err
		}
		how := registry.Installation{Force: *force, Own: host.Names(""), Log: os.Stderr}
		if len(args) == 0 {
			all, err := home.Restore(c.Context(), how)
			return errors.Join(err, printInstallations(c, *asJSON, all))
		}
		how.Source = args[0]
		one, err := home.Install(c.Context(), how)
		if err != nil {
			return err
		}
		return printInstallations(c, *asJSON, []*registry.Installed{one})
	}
	return c
}

// home is where plugins are installed.
func (s *settings) home(user bool) (registry.Home, error) {
	places, err := s.places()
	if err != nil {
		return registry.Home{}, err
	}
	return places.Home(user)
}

func printInstallations(c *cobra.Command, asJSON bool, all []*registry.Installed) error {
	if asJSON {
		list := []listedPlugin{}
		for _, i := range all {
			list = append(list, statusOf(registry.Status{Plugin: i.Plugin, Digest: i.Digest, Locked: true}).listed())
		}
		return printJSON(c, list)
	}
	for _, i := range all {
		fmt.Fprintf(os.Stderr, "installed %s; pinned as %s\n", i.Plugin, i.Digest)
		if i.Before != nil {
			fmt.Fprintf(os.Stderr, "it replaces version %s, %s\n", i.Before.Version, i.Before.Digest)
		}
		if !i.Listed {
			fmt.Fprintf(os.Stderr, "the source has no %s to compare with; it was written now\n", registry.SumsFile)
		}
	}
	return nil
}
