package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferNorm, "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
	register(inferRotary, "RotaryEmbedding", "com.microsoft.RotaryEmbedding")
	register(inferAttention, "Attention")
}

func inferNorm(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.float(0, 1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		for i := range c.out {
			c.unranked(i, x.Type())
		}
		return nil
	}
	a, err := axis(c.intAttr("axis", -1), x.Rank())
	if err != nil {
		return err
	}
	for _, v := range c.in[1:] {
		if !v.HasRank() {
			continue
		}
		if got, err := Broadcast(x.Shape()[a:], v.Shape()); err != nil || len(got) > x.Rank()-a {
			return fmt.Errorf("%s does not fit the normalised dimensions %s of %s; expected the same shape", v, shapeText(x.Shape()[a:]), x)
		}
	}
	c.set(0, x.Type(), x.Shape())
	saved := slices.Clone(x.Shape())
	for i := a; i < len(saved); i++ {
		saved[i] = Known(1)
	}
	for i := 1; i < len(c.out); i++ {
		c.set(i, Float32, saved)
	}
	return nil
}

func inferRotary(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	return c.like(c.in[0].Type())
}

// inferAttention: ONNX's Attention (opset 23) with [B, H, L, D] operands, or [B, L, H*D] with the head counts as attributes.
func inferAttention(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	q, k, v := c.in[0], c.in[1], c.in[2]
	if !q.HasRank() || !k.HasRank() || !v.HasRank() {
		for i := range c.out {
			c.unranked(i, q.Type())
		}
		return nil
	}
	if q.Rank() != k.Rank() || q.Rank() != v.Rank() || q.Rank() != 3 && q.Rank() != 4 {
		return fmt.Errorf("ranks %d, %d, %d; expected 3 or 4 of all three", q.Rank(), k.Rank(), v.Rank())
	}
	out := slices.Clone(q.Shape())
	out[len(out)-1] = v.Dim(-1)
	heads := q.Dim(1)
	if q.Rank() == 3 {
		heads = Known(c.intAttr("q_num_heads", 1))
		if kv := c.intAttr("kv_num_heads", 1); kv != heads.Size {
			if d, ok := v.Dim(-1).Times(heads).Over(Known(kv)); ok {
				out[2] = d
			}
		}
	}
	c.set(0, q.Type(), out)
	for i := 1; i < len(c.out); i++ {
		c.unranked(i, q.Type())
	}
	if len(c.out) > 3 {
		c.set(3, q.Type(), []Dim{q.Dim(0), heads, q.Dim(-2), k.Dim(-2)})
	}
	return nil
}
