package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
)

func newConfig() *cobra.Command {
	return group("config", "Show and check settings", newConfigPrint(), newConfigCheck())
}

func newConfigPrint() *cobra.Command {
	c := &cobra.Command{
		Use:     "print",
		Short:   "Print every setting, its value and where that came from",
		Example: "  mdmhost config print --config eb --set num=4\n  MDMHOST_PLANNER__GAMMA=0.2 mdmhost config print --config eb --json",
		Args:    noArgs,
	}
	s, asJSON := newSettings(c, sampleFlags...), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if cfg, err = withModel(cfg); err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, entries(cfg))
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
		for _, e := range cfg.Entries() {
			origin, value := e.Origin.String(), fmt.Sprintf("%#v", e.Shown())
			switch v := e.Shown().(type) {
			case nil:
				value, origin = "-", "not given"
			case config.Text:
				value = fmt.Sprintf("%q", string(v))
			case []int32, []string, uint64:
				value = fmt.Sprint(v)
			}
			if e.Note != "" {
				origin += ", left out: " + e.Note
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.Key, value, origin)
		}
		return w.Flush()
	}
	return c
}

// withModel adds what the model itself sets.
func withModel(cfg *config.Config) (*config.Config, error) {
	if err := findModel(cfg); err != nil {
		return nil, usagef("%s: %w", cfg.Origin("model"), err)
	}
	m, err := model.Open(cfg.Model)
	if err != nil {
		return nil, err
	}
	return host.WithModel(cfg, m)
}

// entry is one setting in JSON.
type entry struct {
	Key    string       `json:"key"`
	Value  any          `json:"value"`
	Layer  config.Layer `json:"layer,omitempty"`
	Origin string       `json:"origin,omitempty"`
	Note   string       `json:"note,omitempty"`
}

func entries(cfg *config.Config) []entry {
	var out []entry
	for _, e := range cfg.Entries() {
		out = append(out, entry{e.Key, e.Shown(), e.Origin.Layer, e.Origin.Place, e.Note})
	}
	return out
}

func newConfigCheck() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE|PRESET",
		Short:   "Check a file of settings and list everything that is wrong in it",
		Example: "  mdmhost config check mine.yaml",
		Args:    oneArg("file or preset"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := config.Load(config.Sources{File: args[0]})
			if _, err = checked(c.Context(), cfg, err); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: no problems\n", args[0])
			return err
		},
	}
}
