package forward

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// repetition is the penalty, 1 where it is off.
func repetition(e *sampling.Edits) float32 {
	if e.Repetition == 0 {
		return 1
	}
	return e.Repetition
}

// looks tells whether the edits look at the row's tokens.
func looks(e *sampling.Edits) bool { return repetition(e) != 1 || e.Left != 0 }

// editAttributes describe the edits to the kernel; lists are never empty: the token -1 is none.
func editAttributes(e *sampling.Edits) []*graph.Attribute {
	numbers, tokens := []float32{repetition(e), e.Left, e.Credit.Alpha, e.Credit.Gamma, e.Credit.Beta}, []int64{}
	for _, b := range e.Bias {
		numbers, tokens = append(numbers, b.Value), append(tokens, int64(b.Token))
	}
	return []*graph.Attribute{{Name: "edits", Kind: graph.KindFloats, Floats: numbers}, graph.Ints("bias_tokens", append(tokens, -1)...)}
}

// edit writes the edits of the logits z [B, L, V], of which suppressed tokens are -Inf, with stock operators. Formulas:
// sampling.Compute.
func (b *body) edit(e *sampling.Edits, z, ids, suppressed string, v int) string {
	if len(e.Bias) > 0 {
		bias := make([]float32, v)
		for _, x := range e.Bias {
			if x.Token >= 0 && int(x.Token) < v {
				bias[x.Token] += x.Value
			}
		}
		z = b.op("Add", z, b.constant(graph.OfFloats("", []int64{int64(v)}, bias)))
	}
	if looks(e) {
		none := b.constant(graph.OfInts("", nil, []int64{-1}))
		held := b.op("Where", b.cast("attention", graph.Bool), "tokens", none) // [B, L]
		if r := repetition(e); r != 1 {
			divided := b.op("Where", b.op("Greater", z, b.float(0)), b.op("Div", z, b.float(float64(r))), b.op("Mul", z, b.float(float64(r))))
			z = b.op("Where", b.presence(held, v), divided, z)
		}
		if e.Left != 0 {
			first := b.op("Add", b.op("Mul", b.op("Slice", held, b.ints(0), b.ints(1), b.ints(1)), b.ints(0)), b.ints(-1)) // [B, 1] of -1
			left := b.attr("Concat", []*graph.Attribute{graph.Int("axis", 1)}, first, b.op("Slice", held, b.ints(0), b.ints(-1), b.ints(1)))
			is := b.op("Equal", ids, b.op("Unsqueeze", b.cast(left, graph.Float32), b.ints(2))) // [B, L, V]
			z = b.op("Where", is, b.op("Sub", z, b.float(float64(e.Left))), z)
		}
	}
	if e.Credit.Alpha != 0 {
		z = b.credit(&e.Credit, z, ids, suppressed, v)
	}
	return z
}

// presence tells which tokens a row holds: bool [B, 1, V] from held [B, L], where ids outside the vocabulary are none.
func (b *body) presence(held string, v int) string {
	inside := b.op("Equal", held, b.op("Min", b.op("Max", held, b.ints(0)), b.ints(int64(v-1))))
	at := b.op("Where", inside, held, b.ints(int64(v))) // what is none goes to a column of its own
	rows := b.op("Slice", b.op("Shape", held), b.ints(0), b.ints(1))
	blank := b.op("ConstantOfShape", b.attr("Concat", []*graph.Attribute{graph.Int("axis", 0)}, rows, b.ints(int64(v+1)))) // [B, V+1]
	ones := b.op("Expand", b.float(1), b.op("Shape", held))
	marked := b.attr("ScatterElements", []*graph.Attribute{graph.Int("axis", 1)}, blank, at, ones)
	return b.op("Unsqueeze", b.cast(b.op("Slice", marked, b.ints(0), b.ints(int64(v)), b.ints(1)), graph.Bool), b.ints(1))
}

// credit updates the credits "credit" [B, L, V] to "credit_now" and adds them to the logits.
func (b *body) credit(c *sampling.Credit, z, ids, suppressed string, v int) string {
	zero := b.float(0)
	top := b.reduce("ReduceMax", z)
	e := b.op("Exp", b.op("Sub", z, b.op("Where", b.op("Equal", top, b.float(math.Inf(-1))), zero, top)))
	first := b.reduce("ReduceMin", b.op("Where", b.op("Equal", z, top), ids, b.float(float64(v)))) // [B, L, 1]
	gained := b.op("Pow", b.sum(e), b.float(-float64(c.Gamma)))                                    // p1^gamma
	_, blank := b.held(suppressed, v)
	gains := b.op("And", b.op("Equal", ids, first), blank)
	known := b.op("Unsqueeze", b.cast("known", graph.Bool), b.ints(2)) // [B, L, 1]
	kept := b.op("Mul", b.op("Where", known, "credit", zero), b.float(float64(c.Beta)))
	kept = b.op("Where", b.op("Less", kept, b.float(1e-30)), zero, kept)
	b.output("Add", "credit_now", nil, kept, b.op("Where", gains, gained, zero))
	return b.op("Add", z, b.op("Mul", b.op("Log", b.op("Add", "credit_now", b.float(1))), b.float(float64(c.Alpha))))
}

// held returns the ids that the positions hold, clamped to the vocabulary [B, L, 1], and whether a position is blank: its
// token is one of the vocabulary that is suppressed.
func (b *body) held(suppressed string, v int) (inside, blank string) {
	token := b.op("Unsqueeze", "tokens", b.ints(2))
	inside = b.op("Min", b.op("Max", token, b.ints(0)), b.ints(int64(v-1)))
	return inside, b.op("And", b.op("Equal", token, inside), b.op("Gather", suppressed, inside))
}
