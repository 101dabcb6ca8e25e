package model

import "embed"

// embedded holds the models that the binary carries, one folder each.
//
//go:embed embedded
var embedded embed.FS

// Default is the embedded model that is used when no model is named.
const Default = "molecule"

// Embedded lists the names of the embedded models, the default one first.
func Embedded() []string {
	names := []string{Default}
	entries, _ := embedded.ReadDir("embedded") // the directory is part of the binary
	for _, e := range entries {
		if e.IsDir() && e.Name() != Default {
			names = append(names, e.Name())
		}
	}
	return names
}
