package synthetic

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Stars are directed star graphs: Degree paths, the arms, share exactly one node, the junction, and all other nodes differ.
// The task is to write the path from the source to the goal, which are the ends of one arm, given the edges in random order.
type Stars struct {
	Degree            int
	Shortest, Longest int  // nodes of an arm, drawn uniformly
	Plan              int  // nodes that follow the junction on every arm, at least; the junction's place is drawn uniformly
	IDs               int  // names of nodes, of which every graph takes some at random
	Symmetric         bool // the junction is the first node of every arm
}

// names are the characters that nodes are called.
const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Start ends every prompt.
const Start = ">"

// StarSizes are star graphs by name: easy, medium and hard of the paper on LoFlexMDM (table 1), and smaller ones that a small
// network learns in minutes. Of those, long is where the order of writing matters most.
var StarSizes = map[string]Stars{
	"tiny":   {Degree: 3, Shortest: 2, Longest: 3, Plan: 1, IDs: 7},
	"small":  {Degree: 3, Shortest: 2, Longest: 4, Plan: 1, IDs: 10},
	"long":   {Degree: 2, Shortest: 3, Longest: 6, Plan: 2, IDs: 11},
	"easy":   {Degree: 3, Shortest: 5, Longest: 5, IDs: 20, Symmetric: true},
	"medium": {Degree: 3, Shortest: 3, Longest: 6, Plan: 2, IDs: 20},
	"hard":   {Degree: 5, Shortest: 6, Longest: 12, Plan: 5, IDs: 56},
}

// Validate implements [Task].
func (s Stars) Validate() error {
	if s.IDs > len(names) {
		return fmt.Errorf("ids: expected at most %d, since every node is one character, found %d", len(names), s.IDs)
	}
	if s.Symmetric && s.Plan > 0 {
		return fmt.Errorf("plan: has no meaning where the junction is the first node of every arm; leave out one of the two")
	}
	return cmp.Or(
		atLeast("degree", s.Degree, 1, "the number of arms"),
		atLeast("plan", s.Plan, 0, "the nodes behind the junction"),
		atLeast("arms", s.Shortest, max(2, s.Plan+1), "the nodes of the shortest arm: two, and the junction with those behind it"),
		atLeast("arms", s.Longest, s.Shortest, "the nodes of the shortest arm"),
		atLeast("ids", s.IDs, s.nodes(), "the nodes of the largest graph"),
	)
}

// nodes is how many the largest graph has.
func (s Stars) nodes() int { return s.Degree*(s.Longest-1) + 1 }

// Limits implements [Task].
func (s Stars) Limits() (prompt, text int) {
	return 2*s.Degree*(s.Longest-1) + 2 + len(Start), 2 * (s.Longest - 1)
}

// Draw implements [Task].
func (s Stars) Draw(rng *rand.Rand) Row { return s.Graph(rng).Row() }

// Graph is one star graph with its answer.
type Graph struct {
	Edges        [][2]int // from, to
	Source, Goal int
	Junction     int
	Path         []int // from source to goal
}

// Graph draws one. Its first arm is the answer.
func (s Stars) Graph(rng *rand.Rand) Graph {
	ids := rng.Perm(s.IDs)
	g := Graph{Junction: ids[0]}
	ids = ids[1:]
	for arm := range s.Degree {
		n := s.Shortest + rng.IntN(s.Longest-s.Shortest+1)
		at := 0
		if !s.Symmetric {
			at = rng.IntN(n - s.Plan)
		}
		path := make([]int, n)
		for i := range path {
			if i == at {
				path[i] = g.Junction
				continue
			}
			path[i], ids = ids[0], ids[1:]
		}
		for i := range n - 1 {
			g.Edges = append(g.Edges, [2]int{path[i], path[i+1]})
		}
		if arm == 0 {
			g.Source, g.Goal, g.Path = path[0], path[n-1], path
		}
	}
	rng.Shuffle(len(g.Edges), func(i, j int) { g.Edges[i], g.Edges[j] = g.Edges[j], g.Edges[i] })
	return g
}

// Row writes the graph down: the prompt is its edges, source, goal and [Start], the text the edges of the path. An edge is two
// characters.
func (g Graph) Row() Row {
	var prompt, text strings.Builder
	for _, e := range g.Edges {
		prompt.WriteString(names[e[0]:e[0]+1] + names[e[1]:e[1]+1])
	}
	prompt.WriteString(names[g.Source:g.Source+1] + names[g.Goal:g.Goal+1] + Start)
	for i := range len(g.Path) - 1 {
		text.WriteString(names[g.Path[i]:g.Path[i]+1] + names[g.Path[i+1]:g.Path[i+1]+1])
	}
	return Row{Prompt: prompt.String(), Text: text.String(), Distance: g.distance()}
}

// distance is [Row.Distance].
func (g Graph) distance() []int {
	at := 0
	for i, node := range g.Path {
		if node == g.Junction {
			at = i
		}
	}
	return distances(len(g.Path), at)
}

// distances tells of each character of the text of a path of so many nodes how many edges it is from the node at a place.
func distances(nodes, at int) (out []int) {
	for i := range nodes - 1 {
		out = append(out, max(at-i, i-at), max(at-i-1, i+1-at))
	}
	return out
}
