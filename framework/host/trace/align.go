package trace

import "slices"

// inPlace pairs every position of two rows of one length with itself.
func inPlace(l int) [][2]int {
	out := make([][2]int, l)
	for i := range out {
		out[i] = [2]int{i, i}
	}
	return out
}

// crossed bounds the pairs of positions that a longest common subsequence is looked for in.
const crossed = 1 << 24

// align pairs the positions of two rows that grew apart: those of a longest common subsequence of their tokens, in order. Where there
// are several it takes the one that pairs as far left in a as it can. Very long rows are paired at their equal beginnings and ends alone.
func align(a, b []int32) [][2]int {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := inPlace(head)
	if x, y := a[head:len(a)-tail], b[head:len(b)-tail]; len(x)*len(y) <= crossed {
		for _, p := range common(x, y) {
			out = append(out, [2]int{head + p[0], head + p[1]})
		}
	}
	for k := tail; k > 0; k-- {
		out = append(out, [2]int{len(a) - k, len(b) - k})
	}
	return out
}

// common is a longest common subsequence, by dynamic programming.
func common(a, b []int32) [][2]int {
	var out [][2]int
	wide := len(b) + 1
	longest := make([]int32, (len(a)+1)*wide) // [i, j]: of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*wide+j] = longest[(i+1)*wide+j+1] + 1
			} else {
				longest[i*wide+j] = max(longest[(i+1)*wide+j], longest[i*wide+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i*wide+j+1] >= longest[(i+1)*wide+j]:
			j++
		default:
			i++
		}
	}
	return out
}

// alone lists the positions, of l on one side of the pairs, that are in no pair.
func alone(pairs [][2]int, side, l int) []int32 {
	var out []int32
	next := 0
	for _, p := range append(slices.Clip(pairs), [2]int{l, l}) {
		for ; next < p[side]; next++ {
			out = append(out, int32(next))
		}
		next++
	}
	return out
}
