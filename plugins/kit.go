// Package plugins holds the protocol, the kits and the first-party plugins. By itself it is only the kit's source text, for the
// projects of plugins.
package plugins

import "embed"

// Kit is the source of the packages that plugins are compiled with, by path below this folder, as [framework.Kit] is.
//
//go:embed plugintest/*.go proto/mdmhost/v1/*.go proto/shm/*.go proto/wire/*.go recording/*.go sdk/*.go sdk/count/*.go sdk/options/*.go sdk/trainer/*.go supervise/*.go
var Kit embed.FS
