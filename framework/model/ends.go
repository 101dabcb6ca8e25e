package model

import (
	"maps"
	"slices"
)

// Ends returns the ids that config.json and generation_config.json give under a key such as "eos_token_id" or
// "eot_token_id", each a number or a list of them. Ids that the logits do not have are left out; nil where there is none.
func (m *Model) Ends(key string) []int32 {
	found := map[int32]bool{}
	add := func(v any) {
		if id, ok := v.(float64); ok && id == float64(int32(id)) && id >= 0 && int(id) < m.V {
			found[int32(id)] = true
		}
	}
	for _, file := range []map[string]any{m.Config.Raw, m.Generation} {
		if list, ok := file[key].([]any); ok {
			for _, v := range list {
				add(v)
			}
		}
		add(file[key])
	}
	return slices.Sorted(maps.Keys(found))
}
