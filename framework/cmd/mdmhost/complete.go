package main

import (
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/exporters/targets"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/registry"
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
		"runtime": slices.Concat(config.Lookup("runtime.kind").Enum, config.Lookup("runtime.provider").Enum),
		"format":  config.Lookup("format").Enum,
		"model":   modelNames(),
		"from":    modelNames(),
		"to":      targets.Names(),
	}
	for flag, list := range names {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Concat(list, installedNames(sampling.Kind(flag))), cobra.ShellCompDirectiveDefault
		})
		if err != nil {
			panic(err) // the flag was just found
		}
	}
}

// installedNames are the plugins of the kinds that are found by their names.
func installedNames(kinds ...sampling.Kind) (out []string) {
	places, err := registry.FindPlaces(os.Getenv("MDMHOST_PLUGIN_PATH"))
	if err != nil {
		return nil // a shell that completes has no place for errors
	}
	for _, p := range registry.List(places) {
		if slices.Contains(kinds, p.Kind()) {
			out = append(out, p.Name)
		}
	}
	return out
}

// completeInstalled completes the arguments of commands that take names of installed plugins.
func completeInstalled(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return installedNames(sampling.Kinds...), cobra.ShellCompDirectiveDefault
}
