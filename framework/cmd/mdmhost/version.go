package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// version is set by the build, such as "v0.1.0-3-gabc"; the module's own version stands in without it.
var version string

func newVersion() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version", Example: "  mdmhost version --json", Args: noArgs}
	asJSON := asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := thisVersion()
		if *asJSON {
			return printJSON(c, v)
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "mdmhost %s, plugin protocol %d, %s, %s\n", v.Version, v.Protocol, v.Go, v.Platform)
		return err
	}
	return c
}

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisVersion() versionInfo {
	v := versionInfo{Version: "unknown", Protocol: wire.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(version, build.Main.Version, v.Version)
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}
