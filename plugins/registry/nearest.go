package registry

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// didYouMean returns "; did you mean X?", or what there is when nothing is near.
func didYouMean(name string, candidates []string) string {
	best, least := "", min(max(2, len(name)/3), len(name)/2)+1
	all := slices.Compact(slices.Sorted(slices.Values(candidates)))
	for _, c := range all {
		if d := levenshtein.Distance(name, c, nil); d < least {
			best, least = c, d
		}
	}
	switch {
	case best != "":
		return "; did you mean " + best + "?"
	case len(all) == 0:
		return ""
	}
	return "; there are " + strings.Join(all, ", ")
}
