package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// installed is what there is to say of a plugin that is no part of this program, without starting it.
type installed struct {
	Path        string         `json:"path"`
	Place       registry.Place `json:"place"` // given, path, project or user
	Protocol    int            `json:"protocol,omitempty"`
	License     string         `json:"license,omitempty"`
	Environment []string       `json:"environment,omitempty"`
	Digest      string         `json:"digest,omitempty"`
	Locked      bool           `json:"locked"`
	Problem     string         `json:"problem,omitempty"` // why it would not be started
	status      registry.Status
}

// listedPlugin is a plugin of a list that nobody started: what it needs is not known.
type listedPlugin struct {
	Kind      sampling.Kind `json:"kind,omitempty"`
	Name      string        `json:"name"`
	Version   string        `json:"version,omitempty"`
	Summary   string        `json:"summary,omitempty"`
	Installed *installed    `json:"installed"`
}

// survey checks the named plugins, or all that are installed or locked.
func survey(places registry.Places, names []string) ([]*installed, error) {
	all, err := places.Survey(names)
	return statuses(all), err
}

func statuses(all []registry.Status) []*installed {
	var out []*installed
	for _, s := range all {
		out = append(out, statusOf(s))
	}
	return out
}

func statusOf(s registry.Status) *installed {
	i := &installed{Path: s.Plugin.Path, Place: s.Plugin.Place, Digest: s.Digest, Locked: s.Locked, status: s}
	if m := s.Plugin.Manifest; m != nil {
		i.Protocol, i.License, i.Environment = m.Protocol, m.License, m.Environment
	}
	if s.Err != nil {
		i.Problem = s.Err.Error()
	}
	return i
}

// newInstalled is the status of a located plugin.
func newInstalled(o host.Options, p *registry.Plugin) (*installed, error) {
	places, err := registry.FindPlaces(o.Plugins.Path)
	if err != nil {
		return nil, err
	}
	return statusOf(places.Status(p)), nil
}

// listed is the plugin as a list has it.
func (i *installed) listed() listedPlugin {
	l := listedPlugin{Kind: i.status.Plugin.Kind(), Name: i.status.Plugin.Name, Installed: i}
	if m := i.status.Plugin.Manifest; m != nil {
		l.Version, l.Summary = m.Version, m.Summary
	}
	return l
}

// listing is `plugin list` in JSON.
func listing(all []plugin, others []*installed) []any {
	var out []any
	for _, i := range others {
		out = append(out, i.listed())
	}
	for _, p := range all {
		out = append(out, p)
	}
	return out
}

// printInstalled lists plugins that are no part of this program.
func printInstalled(out io.Writer, all []*installed) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(out, "installed")
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, i := range all {
		l := i.listed()
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", supervise.Printable(l.Name), strings.TrimSpace(string(l.Kind)+" "+supervise.Printable(l.Version)), i.Path, i.verdict(), supervise.Printable(l.Summary))
	}
	_ = w.Flush() // as the lines of first-party plugins
}

// verdict says in a few words whether the plugin would be started.
func (i *installed) verdict() string {
	switch {
	case i.Problem != "":
		return "refused: see `mdmhost plugin verify`"
	case i.Locked:
		return "verified, locked"
	case i.status.Plugin.Manifest == nil:
		return "not verified: no " + registry.ManifestFile
	case !i.status.Listed:
		return "not verified: no " + registry.SumsFile
	}
	return "verified, not locked"
}

// print adds the lines of `plugin info`.
func (i *installed) print(w io.Writer) {
	fmt.Fprintf(w, "path\t%s\n", i.Path)
	if i.License != "" {
		fmt.Fprintf(w, "license\t%s\n", supervise.Printable(i.License))
	}
	if len(i.Environment) > 0 {
		fmt.Fprintf(w, "environment\t%s\n", strings.Join(i.Environment, " "))
	}
	fmt.Fprintf(w, "digest\t%s, %s\n", i.Digest, i.verdict())
}

// printStatuses says of each plugin whether it is what it should be.
func printStatuses(out io.Writer, all []*installed) {
	for _, i := range all {
		l := i.listed()
		if i.Problem != "" {
			fmt.Fprintf(out, "%s  refused\n  %s\n", supervise.Printable(l.Name), strings.ReplaceAll(i.Problem, "\n", "\n  "))
			continue
		}
		fmt.Fprintf(out, "%s  %s  %s  %s\n", strings.TrimSpace(supervise.Printable(l.Name)+" "+supervise.Printable(l.Version)), i.Path, i.Digest, i.verdict())
	}
}
