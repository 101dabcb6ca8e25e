// Package python holds the Python authors' kit. In Go it is only its source text, for the projects of plugins.
package python

import "embed"

// Source is the package mdmhost_plugin, below the folder of that name, as a wheel holds it.
//
//go:embed mdmhost_plugin/*.py mdmhost_plugin/py.typed mdmhost_plugin/v1/*.py mdmhost_plugin/v1/*.pyi mdmhost_plugin/v1/*.proto
var Source embed.FS
