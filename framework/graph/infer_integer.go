package graph

import "fmt"

func init() {
	register(inferDynamicQuantize, "DynamicQuantizeLinear")
	register(inferMatMulInteger, "MatMulInteger")
}

// inferDynamicQuantize: the values as uint8, their scale and their zero point.
func inferDynamicQuantize(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if x.Type() != Float32 && x.Type() != Undefined {
		return fmt.Errorf("input 0 is %s; expected float32, cast it", x.Type())
	}
	if x.HasRank() {
		c.set(0, Uint8, x.Shape())
	} else {
		c.unranked(0, Uint8)
	}
	for i, typ := range []Type{Float32, Uint8} {
		if len(c.out) > i+1 {
			c.set(i+1, typ, nil)
		}
	}
	return nil
}

// inferMatMulInteger: a product of 8-bit integers as int32.
func inferMatMulInteger(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	for i, v := range c.in[:2] {
		if t := v.Type(); t != Int8 && t != Uint8 && t != Undefined {
			return fmt.Errorf("input %d is %s; expected int8 or uint8, quantise it", i, t)
		}
	}
	return c.product(Int32)
}
