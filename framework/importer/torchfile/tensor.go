package torchfile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// storage is a run of elements of one type.
type storage struct {
	dtype safetensors.DType
	count int64 // of elements
	data  []byte
}

// storages are PyTorch's types of storage by the class that a file names.
var storages = map[string]safetensors.DType{
	"torch FloatStorage": safetensors.F32, "torch HalfStorage": safetensors.F16, "torch BFloat16Storage": safetensors.BF16, "torch DoubleStorage": safetensors.F64,
	"torch LongStorage": safetensors.I64, "torch IntStorage": safetensors.I32, "torch ShortStorage": safetensors.I16, "torch CharStorage": safetensors.I8,
	"torch ByteStorage": safetensors.U8, "torch BoolStorage": safetensors.Bool,
}

// tensor is a view of a storage.
type tensor struct {
	storage       *storage
	offset        int64 // in elements
	shape, stride []int64
}

// rebuild is torch._utils._rebuild_tensor_v2(storage, offset, size, stride, ...).
func rebuild(arguments []any) (any, error) {
	if len(arguments) < 4 {
		return nil, errors.New("rebuilds a tensor from too little")
	}
	s, ok := arguments[0].(*storage)
	offset, whole := arguments[1].(int64)
	shape, err := sizes(arguments[2])
	stride, err2 := sizes(arguments[3])
	if !ok || !whole || offset < 0 || err != nil || err2 != nil || len(shape) != len(stride) {
		return nil, errors.New("rebuilds a tensor from what is no storage, offset, shape and stride")
	}
	return &tensor{s, offset, shape, stride}, nil
}

func sizes(value any) ([]int64, error) {
	t, ok := value.(tuple)
	if !ok || len(t) > 16 {
		return nil, errors.New("is no short tuple")
	}
	out := make([]int64, len(t))
	for i, v := range t {
		if out[i], ok = v.(int64); !ok || out[i] < 0 || out[i] > 1<<40 {
			return nil, errors.New("is no tuple of sizes")
		}
	}
	return out, nil
}

// view is the tensor with its elements row by row: a part of the file where they are stored so.
func (t *tensor) view(name string) (safetensors.Tensor, error) {
	out := safetensors.Tensor{Name: name, DType: t.storage.dtype, Shape: t.shape}
	if slices.Contains(t.shape, 0) {
		out.Data = []byte{}
		return out, nil
	}
	size, count, last, rows := t.storage.dtype.Size(), int64(1), int64(0), true
	for i := len(t.shape) - 1; i >= 0; i-- {
		n := t.shape[i]
		if count > t.storage.count/n || t.stride[i] > t.storage.count/max(n-1, 1) {
			return out, fmt.Errorf("shape %v with strides %v is more than its storage of %d elements holds", t.shape, t.stride, t.storage.count)
		}
		rows = rows && (n == 1 || t.stride[i] == count)
		last += (n - 1) * t.stride[i]
		count *= n
		if last > t.storage.count {
			break
		}
	}
	if t.offset > t.storage.count || last >= t.storage.count-t.offset {
		return out, fmt.Errorf("shape %v with strides %v at %d ends beyond its storage of %d elements", t.shape, t.stride, t.offset, t.storage.count)
	}
	from := t.storage.data[t.offset*size:]
	if rows {
		out.Data = from[: count*size : count*size]
		return out, nil
	}
	out.Data = make([]byte, 0, count*size)
	at := make([]int64, len(t.shape))
	for range count {
		element := int64(0)
		for i, n := range at {
			element += n * t.stride[i]
		}
		out.Data = append(out.Data, from[element*size:(element+1)*size]...)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < t.shape[i] {
				break
			}
			at[i] = 0
		}
	}
	return out, nil
}

// persistent finds the storage of a persistent id: ("storage", class, key, location, count, ...).
func persistent(id any, find func(key string, s *storage) (*storage, error)) (any, error) {
	t, ok := id.(tuple)
	if !ok || len(t) < 5 || t[0] != "storage" {
		return nil, errors.New("refers to something that is no storage")
	}
	class, isClass := t[1].(global)
	key, isKey := t[2].(string)
	count, isCount := t[4].(int64)
	dtype := storages[string(class)]
	switch {
	case !isClass || !isKey || !isCount || count < 0 || count > 1<<40:
		return nil, errors.New("refers to a storage in a way that is not known")
	case dtype == "":
		return nil, fmt.Errorf("has a storage of class %s, which is not known", class)
	case len(t) > 5 && t[5] != nil:
		return nil, errors.New("has storages that are views of others; save the state dictionary again with a newer PyTorch")
	}
	return find(key, &storage{dtype: dtype, count: count})
}
