package main

import (
	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/plugins/reference"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

func newPluginDocs() *cobra.Command {
	c := &cobra.Command{
		Use: "docs [NAME|PATH]", Short: "Write the reference of a plugin, or of the protocol and all plugins, as Markdown",
		Long: "Writes the reference of a plugin as Markdown: what it needs and may decide, its options, and command lines to start from. It is made\n" +
			"for a README. Without a plugin: all statistics and verbs, the plugins in this binary, and the protocol.",
		Example: "  mdmhost plugin docs eb\n  mdmhost plugin docs ./my-planner >>README.md\n  mdmhost plugin docs >reference.md",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneArg("name or path of a plugin, or none")(c, args)
		},
	}
	s := newSettings(c)
	kind := kindFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		kind, err := kind()
		if err != nil {
			return err
		}
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			all, err := firstParty(c.Context())
			if err != nil {
				return err
			}
			var list []reference.Plugin
			for _, p := range all {
				list = append(list, p.reference(""))
			}
			return reference.Write(c.OutOrStdout(), list)
		}
		p, err := find(c.Context(), kind, args[0], options(cfg))
		if err != nil {
			return err
		}
		return p.reference(args[0]).Write(c.OutOrStdout(), 2)
	}
	return c
}

// reference is the plugin as the reference describes it, named as it was asked for.
func (p plugin) reference(asked string) reference.Plugin {
	out := reference.Plugin{Kind: string(p.Kind), Name: p.Name, Version: p.Version, Summary: p.Summary, Needs: p.Needs,
		CanRemask: p.CanRemask, CanInsert: p.CanInsert, Adaptive: p.Adaptive, Options: p.Options}
	if registry.IsPath(asked) {
		out.Path = asked
	}
	return out
}
