package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
	schemas "github.com/mdmhost/mdmhost/plugins/sdk/options"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

func newPlugin() *cobra.Command {
	return group("plugin", "Show, install, check and write plugins", newPluginList(), newPluginInfo(), newPluginNew(), newPluginDocs(),
		newPluginInstall(), newPluginVerify(), newPluginRemove(), newPluginLock(), newPluginPack(), newPluginCheck())
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
	Installed *installed      `json:"installed,omitempty"`
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
	all, err := host.Plugins(ctx)
	if err != nil {
		return nil, err
	}
	var out []plugin
	for _, d := range all {
		out = append(out, newPluginInfoOf(d))
	}
	return out, nil
}

func newPluginList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the planners, samplers and trainers in this binary, and those that are installed", Example: "  mdmhost plugin list --json", Args: noArgs}
	s, asJSON := newSettings(c), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		places, err := s.places()
		if err != nil {
			return err
		}
		all, err := firstParty(c.Context())
		if err != nil {
			return err
		}
		others, err := survey(places, nil)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, listing(all, others))
		}
		printInstalled(c.OutOrStdout(), others)
		return printFamilies(c.OutOrStdout(), all)
	}
	return c
}

// families are what plugins do, in the order of the list; a plugin belongs to the first that it fits.
var families = []struct {
	title string
	kind  sampling.Kind
	fits  func(plugin) bool
}{
	{"planners that open as many blanks a step as a schedule says", sampling.KindPlanner, func(p plugin) bool { return !p.CanRemask && !p.Adaptive }},
	{"planners that open as many blanks a step as the model is sure of", sampling.KindPlanner, func(p plugin) bool { return !p.CanRemask }},
	{"planners that also revise what is written", sampling.KindPlanner, func(plugin) bool { return true }},
	{"samplers", sampling.KindSampler, func(plugin) bool { return true }},
	{"trainers", sampling.KindTrainer, func(plugin) bool { return true }},
}

// printFamilies lists plugins under what they do, with the names of all in one column.
func printFamilies(out io.Writer, left []plugin) error {
	width := 0
	for _, p := range left {
		width = max(width, len(supervise.Printable(p.Name)))
	}
	for _, f := range families {
		fmt.Fprintf(out, "%s\n", f.title)
		left = slices.DeleteFunc(left, func(p plugin) bool {
			if p.Kind != f.kind || !f.fits(p) {
				return false
			}
			fmt.Fprintf(out, "  %-*s  %s\n", width, supervise.Printable(p.Name), supervise.Printable(p.Summary))
			return true
		})
	}
	_, err := fmt.Fprintln(out, "`mdmhost plugin info NAME` says what one needs and can be told; docs/planners.md which to take when.")
	return err
}

func newPluginInfo() *cobra.Command {
	c := &cobra.Command{
		Use: "info NAME|PATH|DIR", Short: "Show what a plugin needs, may do and can be told",
		Example: "  mdmhost plugin info eb\n  mdmhost plugin info ./my-planner --json",
		Args:    oneArg("name or path of a plugin"),
	}
	s, asJSON := newSettings(c), asJSON(c)
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
		p, err := find(c.Context(), kind, args[0], options(cfg))
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, p)
		}
		if err := p.print(c); err != nil || kind != "" {
			return err
		}
		return printNamesakes(c, p)
	}
	return c
}

// printNamesakes points to the first-party plugins of other kinds that have the name of p.
func printNamesakes(c *cobra.Command, p plugin) error {
	all, err := firstParty(c.Context())
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name == p.Name && other.Kind != p.Kind {
			if _, err := fmt.Fprintf(c.OutOrStdout(), "There is a %s of this name, too: --kind %s\n", other.Kind, other.Kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p plugin) print(c *cobra.Command) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s %s\n", p.Kind, supervise.Printable(p.Name), supervise.Printable(p.Version))
	if p.Summary != "" {
		fmt.Fprintf(w, "summary\t%s\n", supervise.Printable(p.Summary))
	}
	if p.Kind != sampling.KindTrainer { // a trainer sees no steps
		fmt.Fprintf(w, "needs\t%s\n", orNone(p.Needs))
		fmt.Fprintf(w, "can remask\t%v\ncan insert\t%v\nadaptive\t%v\n", p.CanRemask, p.CanInsert, p.Adaptive)
	}
	all, err := schemas.Describe(string(p.Options))
	if err != nil {
		return fmt.Errorf("%s %s: %w", p.Kind, p.Name, err)
	}
	for _, o := range all {
		fmt.Fprintf(w, "%s.%s\t%s\n", p.Kind, supervise.Printable(o.Name), supervise.Printable(o.String()))
	}
	if p.Installed != nil {
		p.Installed.print(w)
	}
	return w.Flush()
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "nothing but tokens and masks"
	}
	return fmt.Sprint(list)
}
