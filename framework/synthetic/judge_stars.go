package synthetic

import (
	"fmt"
	"strings"
)

// StarJudge judges answers to star graphs. The graph, its junction and its only path are found from the prompt. Metrics of a
// row: valid, whether it is the path; agreement, the share of characters that are those of the path place by place, where the
// end counts as one and the longer of the two as the whole; edges, the share of written edges that the graph has; length,
// whether that is right. For valid rows also order, the correlation of when a character was opened with how far its node is
// from the junction, and with rows that grow order_inserted, the same of when it was inserted: near -1 where the ends come
// first, near +1 where the junction does. Times are ranks within the row.
type StarJudge struct {
	rows, valid    float64
	agreement      float64
	edges, length  float64
	opened, placed correlation
}

// Row implements [Judge].
func (j *StarJudge) Row(l Line) (map[string]float64, error) {
	prompt, text, ok := strings.Cut(l.Text, Start)
	s := readStar(prompt)
	if !ok || s == nil || s.path == "" {
		return nil, fmt.Errorf("expected edges of two characters, source, goal and %q with a path between the two, found %s", Start, l.Text)
	}
	text = Unfilled(text)
	right := text == s.path
	m := map[string]float64{"valid": flag(right), "agreement": agreement(text, s.path), "edges": s.known(text), "length": flag(len(text) == len(s.path))}
	j.rows++
	j.valid, j.agreement = j.valid+m["valid"], j.agreement+m["agreement"]
	j.edges, j.length = j.edges+m["edges"], j.length+m["length"]
	if !right || s.distance == nil {
		return m, nil
	}
	opened, born := l.orders(text)
	put(m, "order", opened, s.distance, &j.opened)
	put(m, "order_inserted", born, s.distance, &j.placed)
	return m, nil
}

// put adds a row's correlation, and the row to that of all, for which rank and distance are divided by the path's length.
func put(m map[string]float64, name string, rank []float64, distance []int, all *correlation) {
	var own correlation
	for i, r := range rank {
		own.add(r, float64(distance[i]))
		all.add(r/float64(len(rank)), float64(distance[i])/float64(len(rank)))
	}
	if c, ok := own.value(); ok {
		m[name] = c
	}
}

// Summary implements [Judge]: means, and correlations over the characters of all valid rows together.
func (j *StarJudge) Summary() map[string]float64 {
	m := map[string]float64{"valid": share(j.valid, j.rows), "agreement": share(j.agreement, j.rows), "edges": share(j.edges, j.rows), "length": share(j.length, j.rows)}
	for name, c := range map[string]*correlation{"order": &j.opened, "order_inserted": &j.placed} {
		if v, ok := c.value(); ok {
			m[name] = v
		}
	}
	return m
}

// agreement compares two texts place by place, their ends included.
func agreement(got, want string) float64 {
	got, want = got+"\n", want+"\n"
	hits := 0
	for i := range min(len(got), len(want)) {
		if got[i] == want[i] {
			hits++
		}
	}
	return float64(hits) / float64(max(len(got), len(want)))
}

// star is a graph that was read from its prompt.
type star struct {
	next     map[byte][]byte
	path     string // the answer
	distance []int  // of its characters from the junction, nil where none shows
}

// readStar reads edges, source and goal; nil where these are not characters in pairs.
func readStar(prompt string) *star {
	if len(prompt) < 4 || len(prompt)%2 == 1 {
		return nil
	}
	s, in := &star{next: map[byte][]byte{}}, map[byte]int{}
	edges, ends := prompt[:len(prompt)-2], prompt[len(prompt)-2:]
	for i := 0; i < len(edges); i += 2 {
		s.next[edges[i]] = append(s.next[edges[i]], edges[i+1])
		in[edges[i+1]]++
	}
	nodes := s.way(ends[0], ends[1], map[byte]bool{})
	at := -1
	for i, v := range nodes {
		if len(s.next[v]) > 1 || in[v] > 1 {
			at = i
		}
	}
	for i := range len(nodes) - 1 {
		s.path += string(nodes[i : i+2])
	}
	if at >= 0 {
		s.distance = distances(len(nodes), at)
	}
	return s
}

// way returns the nodes from one to another, past none that was seen, and nil where there is no way.
func (s *star) way(from, to byte, seen map[byte]bool) []byte {
	if from == to {
		return []byte{to}
	}
	seen[from] = true
	for _, v := range s.next[from] {
		if seen[v] {
			continue
		}
		if rest := s.way(v, to, seen); rest != nil {
			return append([]byte{from}, rest...)
		}
	}
	return nil
}

// known is the share of a text's edges that the graph has.
func (s *star) known(text string) float64 {
	n, all := 0, (len(text)+1)/2
	for i := 0; i+1 < len(text); i += 2 {
		if strings.IndexByte(string(s.next[text[i]]), text[i+1]) >= 0 {
			n++
		}
	}
	return float64(n) / float64(max(all, 1))
}
