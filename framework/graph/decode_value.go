package graph

import "fmt"

func (d *decoder) tensors(f field, name string, to *[]*Tensor) (bool, error) {
	t := &Tensor{}
	*to = append(*to, t)
	return f.sub(fmt.Sprintf("%s %d", name, len(*to)-1), func(b []byte) error { return d.tensor(b, t) })
}

func (d *decoder) tensor(b []byte, t *Tensor) error {
	var v int64
	return d.message(b, &t.Unknown, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.ints(&t.Dims)
		case 2:
			ok, err := f.int(&v)
			t.Type = Type(v)
			return ok, err
		case 4:
			return f.packed(&t.Floats)
		case 5:
			return f.packed(&t.Int32s)
		case 6:
			t.Strings = append(t.Strings, f.b)
			return true, nil
		case 7:
			return f.packed(&t.Int64s)
		case 8:
			return f.text(&t.Name)
		case 9:
			return f.bytes(&t.Raw)
		case 10:
			return f.packed(&t.Doubles)
		case 11:
			return f.packed(&t.Uint64s)
		case 13:
			return f.sub("external_data", func(b []byte) error { return d.entry(b, &t.External) })
		case 14:
			t.external = f.u == 1
			return true, nil
		}
		return false, nil
	})
}

// valueInfo reads a name and, for tensors, the element type and shape.
func (d *decoder) valueInfo(b []byte, v *ValueInfo) error {
	return d.message(b, &v.Unknown, func(f field) (bool, error) {
		switch f.num {
		case 1:
			return f.text(&v.Name)
		case 2:
			return f.sub("type", func(b []byte) error { return d.valueType(b, v) })
		}
		return false, nil
	})
}

func (d *decoder) valueType(typ []byte, v *ValueInfo) error {
	return d.message(typ, nil, func(f field) (bool, error) {
		if f.num != 1 {
			if f.num != 6 { // 6 is the denotation
				v.Other = typ
			}
			return true, nil
		}
		return f.sub("tensor", func(b []byte) error {
			return d.message(b, nil, func(f field) (bool, error) {
				switch f.num {
				case 1:
					v.Type = Type(f.u)
				case 2:
					v.HasRank = true
					return f.sub("shape", func(b []byte) error { return d.shape(b, v) })
				}
				return true, nil
			})
		})
	})
}

func (d *decoder) shape(b []byte, v *ValueInfo) error {
	return d.message(b, nil, func(f field) (bool, error) {
		if f.num != 1 {
			return true, nil
		}
		dim := Dim{Size: -1}
		ok, err := f.sub("dimension", func(b []byte) error {
			return d.message(b, nil, func(f field) (bool, error) {
				switch f.num {
				case 1:
					dim.Size = max(int64(f.u), -1)
				case 2:
					return f.text(&dim.Name)
				}
				return true, nil
			})
		})
		v.Shape = append(v.Shape, dim)
		return ok, err
	})
}
