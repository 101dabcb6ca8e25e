package network

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion/philox"
)

// Values are the elements of parameters by name, row-major.
type Values map[string][]float32

// Initialise draws the first values of all parameters. Each is an exact function of the seed and the parameter's name (on one
// processor architecture): the order and the other parameters do not matter.
func Initialise(c Config, seed uint64) Values {
	out := Values{}
	for _, p := range Params(c) {
		out[p.Name] = p.Draw(seed)
	}
	return out
}

// truncation is the standard deviation of a standard normal number that is cut at -2 and 2.
const truncation = 0.87962566103423978

// Draw returns the first values of one parameter.
func (p Param) Draw(seed uint64) []float32 {
	out := make([]float32, p.Len())
	switch p.Init.Kind {
	case Zeros:
	case Ones:
		for i := range out {
			out[i] = 1
		}
	case Normal:
		s := newStream(seed, p.Name)
		for i := range out {
			out[i] = float32(s.normal(i, 0) * p.Init.Std)
		}
	case Truncated:
		s := newStream(seed, p.Name)
		for i := range out {
			x := s.normal(i, 0)
			for try := uint32(1); math.Abs(x) > 2; try++ {
				x = s.normal(i, try)
			}
			out[i] = float32(x * p.Init.Std / truncation)
		}
	default:
		panic("network: parameter " + p.Name + ": start " + p.Init.Kind + " is unknown")
	}
	return out
}

// stream is the randomness of one parameter.
type stream struct{ key [2]uint32 }

func newStream(seed uint64, name string) stream {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	sub := philox.Block([4]uint32{uint32(h), uint32(h >> 32), 0, 1}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	return stream{[2]uint32{sub[0], sub[1]}}
}

// normal is the standard normal number of element i by the method of Box and Muller. Tries of one element are independent.
func (s stream) normal(i int, try uint32) float64 {
	w := philox.Block([4]uint32{uint32(i), uint32(uint64(i) >> 32), try, 0}, s.key)
	u := float64(max((uint64(w[0])<<32|uint64(w[1]))>>11, 1)) * 0x1p-53
	v := float64((uint64(w[2])<<32|uint64(w[3]))>>11) * 0x1p-53
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}
