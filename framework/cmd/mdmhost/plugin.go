package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

func newPlugin() *cobra.Command {
	return group("plugin", "Show planners and samplers", newPluginList(), newPluginInfo())
}

// plugin is what `plugin list` and `plugin info` say of a plugin in JSON.
type plugin struct {
	Kind      sampling.Kind   `json:"kind"`
	Name      string          `json:"name"`
	Version   string          `json:"version,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Needs     []string        `json:"needs"`
	CanRemask bool            `json:"can_remask"`
	CanInsert bool            `json:"can_insert"`
	Adaptive  bool            `json:"adaptive"`
	Options   json.RawMessage `json:"options,omitempty"` // JSON Schema
}

func newPluginInfoOf(d sampling.Description) plugin {
	p := plugin{Kind: d.Kind, Name: d.Name, Version: d.Version, Summary: d.Summary, Needs: d.Needs.List(), CanRemask: d.CanRemask, CanInsert: d.CanInsert, Adaptive: d.Adaptive}
	if p.Needs == nil {
		p.Needs = []string{}
	}
	if json.Valid([]byte(d.OptionsSchema)) {
		p.Options = json.RawMessage(d.OptionsSchema)
	}
	return p
}

// firstParty describes the plugins in this binary, planners first, each kind by name.
func firstParty(ctx context.Context) ([]plugin, error) {
	var out []plugin
	all, drivers := planners.All(), samplers.All()
	for _, name := range sortedKeys(all) {
		d, err := all[name]().Describe(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, newPluginInfoOf(d))
	}
	for _, name := range sortedKeys(drivers) {
		d, err := drivers[name]().Describe(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, newPluginInfoOf(d))
	}
	return out, nil
}

func newPluginList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the planners and samplers in this binary", Example: "  mdmhost plugin list --json", Args: noArgs}
	asJSON := asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		all, err := firstParty(c.Context())
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, all)
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
		for _, p := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Kind, p.Name, p.Summary)
		}
		return w.Flush()
	}
	return c
}

func newPluginInfo() *cobra.Command {
	c := &cobra.Command{
		Use: "info NAME|PATH", Short: "Show what a plugin needs, may do and can be told",
		Example: "  mdmhost plugin info eb\n  mdmhost plugin info ./my-planner --json",
		Args:    oneArg("name or path of a plugin"),
	}
	asJSON := asJSON(c)
	kind := c.Flags().String("kind", "", "planner or sampler, where a name is taken by both or a binary serves both")
	c.RunE = func(c *cobra.Command, args []string) error {
		p, err := find(c.Context(), sampling.Kind(*kind), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, p)
		}
		return p.print(c)
	}
	return c
}

// schema is the part of an options schema that people read.
type schema struct {
	Properties map[string]struct {
		Type        any
		Default     json.RawMessage
		Description string
		Enum        []any
		Minimum     *float64
		Maximum     *float64
	}
}

func (p plugin) print(c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s %s\n", p.Kind, p.Name, p.Version)
	if p.Summary != "" {
		fmt.Fprintf(w, "summary\t%s\n", p.Summary)
	}
	fmt.Fprintf(w, "needs\t%s\n", orNone(p.Needs))
	fmt.Fprintf(w, "can remask\t%v\ncan insert\t%v\nadaptive\t%v\n", p.CanRemask, p.CanInsert, p.Adaptive)
	var s schema
	if len(p.Options) > 0 {
		if err := json.Unmarshal(p.Options, &s); err != nil {
			return fmt.Errorf("%s %s: options schema: %w", p.Kind, p.Name, err)
		}
	}
	for _, name := range sortedKeys(s.Properties) {
		o := s.Properties[name]
		fmt.Fprintf(w, "%s.%s\t%v", p.Kind, name, o.Type)
		if o.Enum != nil {
			fmt.Fprintf(w, " of %v", o.Enum)
		}
		if o.Minimum != nil {
			fmt.Fprintf(w, " from %v", *o.Minimum)
		}
		if o.Maximum != nil {
			fmt.Fprintf(w, " up to %v", *o.Maximum)
		}
		if len(o.Default) > 0 {
			fmt.Fprintf(w, ", default %s", bytes.TrimSpace(o.Default))
		}
		if o.Description != "" {
			fmt.Fprintf(w, ": %s", o.Description)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "nothing but tokens and masks"
	}
	return fmt.Sprint(list)
}

// known names every plugin in this binary, for messages.
func known() []string { return append(sortedKeys(planners.All()), sortedKeys(samplers.All())...) }

func noSuchPlugin(name string) error {
	return usagef("plugin %q: expected a name or the path of a binary%s", name, config.DidYouMean(name, known()))
}

// find describes a first-party plugin by its name, or the plugin in a binary by its path.
func find(ctx context.Context, kind sampling.Kind, name string) (plugin, error) {
	all, err := firstParty(ctx)
	if err != nil {
		return plugin{}, err
	}
	for _, p := range all {
		if p.Name == name && (kind == "" || kind == p.Kind) {
			return p, nil
		}
	}
	return plugin{}, noSuchPlugin(name)
}
