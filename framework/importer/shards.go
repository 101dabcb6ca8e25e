package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// openShards opens the files of an index and holds them against it: every tensor once, in the file that the index names.
func openShards(dir, path string, text []byte, k kind) (*weights, error) {
	var index struct {
		Metadata map[string]any    `json:"metadata"`
		Map      map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s: %w; download the index again", path, err)
	}
	if len(index.Map) == 0 {
		return nil, fmt.Errorf("%s: names no tensors in weight_map; download the index again", path)
	}
	shards := slices.Sorted(maps.Values(index.Map))
	w := &weights{name: path, read: []string{path}}
	where := map[string]string{} // shard by tensor
	var problems []error
	for _, shard := range slices.Compact(shards) {
		if shard == "" || filepath.Base(shard) != shard || !filepath.IsLocal(shard) || strings.Contains(shard, `\`) {
			w.close()
			return nil, fmt.Errorf("%s: names the file %q; expected files beside it", path, shard)
		}
		before := len(w.tensors)
		if err := w.open(k, filepath.Join(dir, shard)); err != nil {
			return nil, fmt.Errorf("%s: shard: %w", path, err)
		}
		for _, t := range w.tensors[before:] {
			switch first, twice := where[t.Name]; {
			case twice:
				problems = append(problems, fmt.Errorf("%s: tensor %q lies in %s and in %s; expected one of them: take all shards of one model", path, t.Name, first, shard))
			case index.Map[t.Name] == "":
				problems = append(problems, fmt.Errorf("%s: tensor %q lies in %s, and the index does not name it; take all shards of one model", path, t.Name, shard))
			case index.Map[t.Name] != shard:
				problems = append(problems, fmt.Errorf("%s: tensor %q lies in %s, and by the index in %s; take all shards of one model", path, t.Name, shard, index.Map[t.Name]))
			}
			where[t.Name] = shard
		}
	}
	for _, name := range slices.Sorted(maps.Keys(index.Map)) {
		if where[name] == "" {
			problems = append(problems, fmt.Errorf("%s: tensor %q is not in %s; download the shard again", path, name, index.Map[name]))
		}
	}
	if problems != nil {
		w.close()
		if len(problems) > 12 {
			problems = append(problems[:12], fmt.Errorf("%s: and %d more", path, len(problems)-12))
		}
		return nil, errors.Join(problems...)
	}
	return w, nil
}
