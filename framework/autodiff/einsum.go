package autodiff

import (
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() { on(einsum, "Einsum") }

// einsum: "a,b->o" gives dA as "o,b->a"; letters of a that stand nowhere else were summed, and are repeated.
func einsum(c *vjp) {
	left, out, _ := strings.Cut(strings.ReplaceAll(c.node.TextAttr("equation", ""), " ", ""), "->")
	terms := strings.Split(left, ",")
	for i, term := range terms {
		if !c.want[i] {
			continue
		}
		from, operands := []string{out}, []graph.Value{c.dy[0]}
		for j, other := range terms {
			if j != i {
				from, operands = append(from, other), append(operands, c.x[j])
			}
		}
		found, missing := "", []int64{}
		for k, letter := range term {
			switch {
			case strings.Count(term, string(letter)) > 1:
				c.unsupported("the diagonal of %q has no gradient rule; write it with Mul and ReduceSum", term)
				return
			case strings.ContainsRune(strings.Join(from, ""), letter):
				found += string(letter)
			default:
				missing = append(missing, int64(k))
			}
		}
		d := c.Op("Einsum", []*graph.Attribute{graph.String("equation", strings.Join(from, ",")+"->"+found)}, operands...)
		if len(missing) > 0 {
			d = c.ExpandLike(c.Unsqueeze(d, missing...), c.x[i])
		}
		c.dx[i] = d
	}
}
