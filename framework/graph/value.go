package graph

// Value is a symbolic tensor: the name of an edge in the graph that a [Builder] writes, with what is known of it. The zero
// Value stands for an optional input that is left out.
type Value struct {
	name string
	info *info
}

// info is what a builder knows of a value.
type info struct {
	typ     Type
	shape   []Dim
	ranked  bool    // false: not even the rank is known
	ints    []Dim   // contents of a small int64 tensor that are known before the run (sizes, axes); nil where they are not
	content *Tensor // of a constant or an initializer
}

// Name is the edge's name in the graph.
func (v Value) Name() string { return v.name }

// Given tells whether v is a value at all, not an input left out.
func (v Value) Given() bool { return v.name != "" }

// Type is the element type, Undefined where it is not known.
func (v Value) Type() Type {
	if v.info == nil {
		return Undefined
	}
	return v.info.typ
}

// Shape is the shape; nil where not even the rank is known (see [Value.HasRank]). It must not be changed.
func (v Value) Shape() []Dim {
	if v.info == nil {
		return nil
	}
	return v.info.shape
}

// HasRank tells whether the number of dimensions is known.
func (v Value) HasRank() bool { return v.info != nil && v.info.ranked }

// Rank is the number of dimensions.
func (v Value) Rank() int { return len(v.Shape()) }

// Dim is dimension i; negative i counts from the end. It is unknown where there is no such dimension.
func (v Value) Dim(i int) Dim {
	s := v.Shape()
	if i < 0 {
		i += len(s)
	}
	if i < 0 || i >= len(s) {
		return Dim{Size: -1}
	}
	return s[i]
}

// Content is the tensor behind a constant or an initializer, or nil.
func (v Value) Content() *Tensor {
	if v.info == nil {
		return nil
	}
	return v.info.content
}

// Ints returns the contents of a small int64 value, such as a shape or a list of axes, where they are known before the run.
// Entries may be symbolic.
func (v Value) Ints() ([]Dim, bool) {
	if v.info == nil || v.info.ints == nil {
		return nil, false
	}
	return v.info.ints, true
}

// String is the name with type and shape, for messages.
func (v Value) String() string {
	switch {
	case !v.Given():
		return "(left out)"
	case !v.HasRank():
		return v.name + " " + v.Type().String()
	}
	return v.name + " " + v.Type().String() + shapeText(v.Shape())
}
