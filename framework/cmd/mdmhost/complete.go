package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// complete teaches the shell the names that flags take; files are its default.
func complete(c *cobra.Command) {
	names := map[string][]string{
		"planner": slices.Sorted(maps.Keys(planners.All())),
		"sampler": slices.Sorted(maps.Keys(samplers.All())),
		"trainer": slices.Sorted(maps.Keys(trainers.All())),
		"config":  configs.Names(),
		"runtime": append([]string{"onnx"}, config.Lookup("runtime.provider").Enum...),
		"format":  config.Lookup("format").Enum,
		"model":   modelNames(),
		"from":    modelNames(),
	}
	for flag, list := range names {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		directive := cobra.ShellCompDirectiveDefault
		err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return list, directive
		})
		if err != nil {
			panic(err) // the flag was just found
		}
	}
}
