package registry

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	namePlain  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)
	nameOfEnv  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	ofPlatform = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)
	// As semver.org gives it.
	semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`)
)

// inside tells whether a path is relative and stays below the folder; "./" may stand before it.
func inside(name string) bool {
	clean := path.Clean(name)
	return writable(name) && fs.ValidPath(clean) && clean != "." && clean != ManifestFile && clean != SumsFile
}

func pattern(p string) bool {
	_, err := path.Match(p, "")
	return err == nil && inside(p) && !slices.Contains(strings.Split(p, "/"), "..")
}

// writable names stand in SHA256SUMS and in archives as they are, on every system.
func writable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || r == unicode.ReplacementChar || unicode.IsControl(r) })
}

func line(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, unicode.IsControl)
}
