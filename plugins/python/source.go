// Package python holds the Python authors' kit. In Go it is only its source text, for the projects of plugins.
package python

import "embed"

// Source is the package mdmhost_plugin, below the folder of that name. Where Python was run beside it, its caches are among it.
//
//go:embed all:mdmhost_plugin
var Source embed.FS
