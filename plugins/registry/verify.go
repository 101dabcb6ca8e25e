package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a file that is not as it should be.
type Difference struct {
	File     string `json:"file"`               // its name within the plugin's folder; "digest" for all of them
	Expected string `json:"expected,omitempty"` // "sha256:..."; "": it is not listed
	Found    string `json:"found,omitempty"`    // "sha256:..."; "": it is missing
}

// String reads "bin/a: expected sha256:..., found sha256:...".
func (d Difference) String() string {
	switch {
	case d.Expected == "" && d.Found == "":
		return fmt.Sprintf("%s: is declared in %s and missing", d.File, ManifestFile)
	case d.Expected == "":
		return fmt.Sprintf("%s: belongs to the plugin and is not listed, found %s", d.File, d.Found)
	case d.Found == "":
		return fmt.Sprintf("%s: is missing, expected %s", d.File, d.Expected)
	}
	return fmt.Sprintf("%s: expected %s, found %s", d.File, d.Expected, d.Found)
}

// ChangedError tells that a plugin is not what was packed, installed or locked.
type ChangedError struct {
	Plugin      string // as messages name it
	Than        string // what it differs from: SHA256SUMS, or the path of a mdmhost.lock
	Differences []Difference
	Hint        string // what to do
}

// Error names every file.
func (e *ChangedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: differs from %s", e.Plugin, e.Than)
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s", d)
	}
	if e.Hint != "" {
		b.WriteString("\n" + e.Hint)
	}
	return b.String()
}

// Verify compares the plugin's files with its SHA256SUMS and returns their sums as found. Every file that was changed, is
// missing, or belongs to the plugin and is not listed is in the [ChangedError]. A plugin without SHA256SUMS has nothing to
// be compared with.
func (p *Plugin) Verify() (Sums, error) {
	if p.Manifest == nil {
		return p.Hash()
	}
	f, err := openListed(p.Path, p.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer f.root.Close() //nolint:errcheck // only read
	if f.sums == nil {
		return p.Hash()
	}
	names, missing, err := f.belonging()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	found, err := f.hash(names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	differences := compare(f.sums, found)
	for _, name := range missing {
		if f.sums[name] == "" { // a pattern that matches nothing, or a program that was never listed
			differences = append(differences, Difference{File: name})
		}
	}
	if len(differences) > 0 {
		return found, &ChangedError{Plugin: p.String(), Than: SumsFile, Differences: differences}
	}
	return found, nil
}

// compare lists, by name, what differs between what should be and what is.
func compare(want, found Sums) []Difference {
	all := maps.Clone(found)
	maps.Copy(all, want)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if want[name] != found[name] {
			out = append(out, Difference{name, prefixed(want[name]), prefixed(found[name])})
		}
	}
	return out
}

func prefixed(sum string) string {
	if sum == "" {
		return ""
	}
	return "sha256:" + sum
}
