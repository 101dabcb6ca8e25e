package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	manifestName = "manifest.json"
	formatName   = "mdmhost checkpoint"
	version      = 1
)

// Manifest is manifest.json: where the run stood, and the digests of all that belongs to it. Digests are sha256 in
// hexadecimal.
type Manifest struct {
	Format      string            `json:"format"`  // set by Save
	Version     int               `json:"version"` // set by Save
	Step        int64             `json:"step"`    // optimiser steps that were done
	Rows        int64             `json:"rows"`    // of the data that were consumed: the cursor to go on from
	Tokens      int64             `json:"tokens"`  // that were trained on
	Seed        uint64            `json:"seed"`
	Config      string            `json:"config_sha256"`     // digest of the configuration
	Artifacts   map[string]string `json:"artifacts"`         // digests by file name
	Digests     map[string]string `json:"digests,omitempty"` // of the trainer's code and of the model that the run began with, by what they are
	Best        *Best             `json:"best"`              // nil before the first evaluation
	Interval    *Interval         `json:"interval"`          // of the next line of metrics.jsonl, as far as it is done
	WallSeconds float64           `json:"wall_seconds"`      // of training so far, earlier sessions of the run included
	CPUSeconds  float64           `json:"cpu_seconds"`
	Files       []File            `json:"files"`  // of the checkpoint, set by Save
	Digest      string            `json:"digest"` // of this manifest as it is written with an empty digest, set by Save
}

// Best is the best evaluation so far. Whether less or more is better is for the caller to know.
type Best struct {
	Step   int64   `json:"step"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
}

// Interval are the sums of the steps since the last line of metrics.jsonl.
type Interval struct {
	Loss     float64               `json:"loss"`
	GradNorm float64               `json:"grad_norm"`
	Steps    int64                 `json:"steps"`
	Metrics  map[string][2]float64 `json:"metrics"` // sums and counts
}

// File is one file of a checkpoint.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Changed is the error of a run that would go on with something else than it began with. Which keys of the configuration
// differ is for the caller to say.
type Changed struct {
	Dir       string
	Config    bool     // the configuration differs
	Artifacts []string // names of the artifacts that differ, are missing or are new
}

// Error names what changed.
func (c *Changed) Error() string {
	var what []string
	if c.Config {
		what = append(what, "another configuration")
	}
	if len(c.Artifacts) > 0 {
		what = append(what, "other artifacts ("+strings.Join(c.Artifacts, ", ")+")")
	}
	return fmt.Sprintf("checkpoint %s: was written with %s; go on with what the run began with, or name another run directory", c.Dir, strings.Join(what, " and "))
}

// Match compares the digests of the configuration and of the artifacts with those of a run that wants to go on from
// here. The error is a [Changed].
func (c *Checkpoint) Match(config string, artifacts map[string]string) error {
	out := &Changed{Dir: c.Dir, Config: config != c.Manifest.Config}
	names := maps.Clone(artifacts)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, c.Manifest.Artifacts)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := c.Manifest.Artifacts[name], artifacts[name]; was != is {
			out.Artifacts = append(out.Artifacts, name)
		}
	}
	if out.Config || len(out.Artifacts) > 0 {
		return out
	}
	return nil
}

// encode returns the text of the manifest with its digest.
func (m Manifest) encode() ([]byte, error) {
	m.Format, m.Version, m.Digest = formatName, version, ""
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w; every number must be finite", manifestName, err)
	}
	m.Digest = digest(text)
	text, err = json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// readManifest reads the manifest in dir and checks it against its digest.
func readManifest(dir string) (Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return Manifest{}, err
	}
	return parseManifest(text)
}

func parseManifest(text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: malformed JSON: %w", manifestName, err)
	}
	switch {
	case m.Format != formatName:
		return m, fmt.Errorf("%s: has format %q, expected %q", manifestName, m.Format, formatName)
	case m.Version > version:
		return m, &newer{m.Version}
	}
	again, err := m.encode()
	if err != nil {
		return m, err
	}
	if string(again) != string(text) {
		return m, fmt.Errorf("%s: does not agree with its own digest", manifestName)
	}
	for _, f := range m.Files {
		if f.Name != filepath.Base(f.Name) || !filepath.IsLocal(f.Name) {
			return m, fmt.Errorf("%s: names %q, which is no file of a checkpoint", manifestName, f.Name)
		}
	}
	return m, nil
}

// newer is the error of a checkpoint that is whole, but beyond this program.
type newer struct{ version int }

func (n *newer) Error() string {
	return fmt.Sprintf("%s: has version %d, this program knows %d; use the newer program that wrote it", manifestName, n.version, version)
}

// damaged tells whether an error of reading means that the checkpoint is lost, other than one that a newer program or
// another user can still read.
func damaged(err error) bool {
	var n *newer
	return !errors.As(err, &n) && !errors.Is(err, os.ErrPermission)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
