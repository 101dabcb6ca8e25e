package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

func newPluginPack() *cobra.Command {
	c := &cobra.Command{
		Use: "pack DIR --out FILE.tar.gz|oci:LAYOUT:TAG", Short: "Pack a plugin's files with their SHA256SUMS, to be installed elsewhere",
		Long: "Pack the files that belong to the plugin in a folder, with their SHA256SUMS, into an archive or an OCI image layout, which is\n" +
			"made where there is none. The same files make the same bytes.",
		Example: "  mdmhost plugin pack ./my-planner --out my-planner-0.1.0.tar.gz\n  mdmhost plugin pack ./my-planner --out oci:./layout:0.1.0",
		Args:    oneArg("folder of a plugin"),
	}
	newSettings(c)
	out := c.Flags().String("out", "", "`FILE` or oci:LAYOUT:TAG to write")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *out == "" {
			return usagef("%s: expected --out FILE.tar.gz or --out oci:LAYOUT:TAG", c.CommandPath())
		}
		packed, err := registry.Pack(c.Context(), args[0], *out)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "packed %d files of %s into %s; digest %s\n", len(packed.Sums), packed.Plugin, *out, packed.Sums.Digest())
		return nil
	}
	return c
}
