// Package framework holds the packages of the framework. By itself it is only their source text, for the projects of plugins.
package framework

import "embed"

// Kit is the source of the packages that plugins are compiled with, by path below this folder: `mdmhost plugin new` writes it
// beside a new plugin. Tests are among it.
//
//go:embed autodiff/*.go diffusion/*.go diffusion/philox/*.go graph/*.go graph/operators.txt sampling/*.go training/spec/*.go wholefile/*.go
var Kit embed.FS
