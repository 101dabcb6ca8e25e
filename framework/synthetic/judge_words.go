package synthetic

import (
	"maps"
	"slices"
	"strings"
)

// BracketJudge judges strings of brackets. Metrics of a row: valid, whether it is balanced, and length. The summary has the
// share that is valid and length_tv, the total variation between the lengths of all rows and the law.
type BracketJudge struct {
	Law     []Share
	valid   float64
	lengths law[int]
}

// Row implements [Judge].
func (j *BracketJudge) Row(l Line) (map[string]float64, error) {
	text := Unfilled(l.Text)
	m := map[string]float64{"valid": flag(Balanced(text)), "length": float64(len(text))}
	j.valid += m["valid"]
	j.lengths.add(len(text))
	return m, nil
}

// Summary implements [Judge].
func (j *BracketJudge) Summary() map[string]float64 {
	m := map[string]float64{"valid": share(j.valid, j.lengths.n)}
	if j.lengths.n > 0 {
		of := map[int]float64{}
		for _, s := range j.Law {
			of[s.Length] = s.Share
		}
		m["length_tv"] = j.lengths.distance(slices.Collect(maps.Keys(of)), func(n int) float64 { return of[n] })
	}
	return m
}

// SeparatorJudge judges words around a separator. Metrics of a row: valid, whether it is one of the 36; and of valid ones
// separator_opened and separator_inserted, the share of the other characters that were opened, or inserted, before the
// separator: 0 where it is always the first, 0.5 where all orders are equally likely. The summary has means of these,
// and the total variation between all rows and the law of the words (tv) and of their lengths (length_tv).
type SeparatorJudge struct {
	texts   law[string]
	lengths law[int]
	sums    map[string][2]float64 // sum and number
}

// Row implements [Judge].
func (j *SeparatorJudge) Row(l Line) (map[string]float64, error) {
	text := Unfilled(l.Text)
	j.texts.add(text)
	j.lengths.add(len(text))
	m := map[string]float64{"valid": flag(Separator{}.Probability(text) > 0)}
	if m["valid"] > 0 {
		at := strings.Index(text, separator)
		opened, born := l.orders(text)
		for name, rank := range map[string][]float64{"separator_opened": opened, "separator_inserted": born} {
			if len(rank) > 0 {
				m[name] = rank[at] / float64(len(rank)-1)
			}
		}
	}
	if j.sums == nil {
		j.sums = map[string][2]float64{}
	}
	for name, v := range m {
		s := j.sums[name]
		j.sums[name] = [2]float64{s[0] + v, s[1] + 1}
	}
	return m, nil
}

// Summary implements [Judge].
func (j *SeparatorJudge) Summary() map[string]float64 {
	m := map[string]float64{}
	for name, s := range j.sums {
		m[name] = s[0] / s[1]
	}
	if j.texts.n > 0 {
		m["tv"] = j.texts.distance(slices.Concat(words[3], words[4], words[5]), Separator{}.Probability)
		m["length_tv"] = j.lengths.distance([]int{3, 4, 5}, func(int) float64 { return 1.0 / 3 })
	}
	return m
}
