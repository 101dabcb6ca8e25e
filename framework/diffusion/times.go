package diffusion

import "math"

// TimeSampler says how a batch of B rows draws its times, one a row (sheet md4 3.6; all are unbiased).
type TimeSampler string

// The time samplers.
const (
	IID          TimeSampler = "iid"           // t_i = U_i
	SharedOffset TimeSampler = "shared_offset" // t_i = mod(U + i/B, 1): the paper's "antithetic" sampling, after VDM
	Stratified   TimeSampler = "stratified"    // t_i = mod(U_i/B + i/B, 1): jittered strata, after MDLM
)

// TimeSamplers lists the names of the time samplers.
func TimeSamplers() []string {
	return []string{string(IID), string(SharedOffset), string(Stratified)}
}

// ParseTimeSampler returns the sampler of that name.
func ParseTimeSampler(name string) (TimeSampler, error) {
	switch s := TimeSampler(name); s {
	case IID, SharedOffset, Stratified:
		return s, nil
	}
	return "", unknown("time sampler", name, TimeSamplers())
}

// At is the time in [0, 1) of row i of a batch of B rows. u in [0, 1) is the row's own uniform, for SharedOffset that of the
// whole batch. i counts through the global batch, whatever part of it is computed where.
func (s TimeSampler) At(u float64, i, B int) float64 {
	switch s {
	case IID:
		return u
	case SharedOffset:
		return math.Mod(u+float64(i)/float64(B), 1)
	case Stratified:
		return math.Mod(u/float64(B)+float64(i)/float64(B), 1)
	}
	panic("diffusion: time sampler " + string(s) + ": expected a value from ParseTimeSampler")
}

// Clamp brings a time into [eps, 1-eps], 0 <= eps < 1/2, where weights are singular at an end of time.
func Clamp(t, eps float64) float64 { return min(max(t, eps), 1-eps) }

// Snap brings a time of [0, 1) to its cell of the uniform grid of T steps: t = (floor(tT) + 1)/T, s = t - 1/T (sheet md4 3.4,
// finite T).
func Snap(time float64, T int) (s, t float64) {
	i := math.Floor(time * float64(T)) // below T: the product never rounds up to it
	return i / float64(T), (i + 1) / float64(T)
}

// FiniteWeight is the finite-T weight T rho(s, t) of a step that [Snap] chose: its mean over the T steps of weight times
// masked cross-entropy is the bound L_T.
func (s *Schedule) FiniteWeight(from, t float64, T int) float64 { return float64(T) * s.Rho(from, t) }

// MaskCount is the number of masks, uniform on 1..n for uniform u in [0, 1): PAPL algorithm 1 keeps k = floor(u n) of the n
// tokens that may be masked. No token gives no mask.
func MaskCount(u float64, n int) int {
	return n - min(int(u*float64(n)), max(n-1, 0))
}

// ExactCountWeight is n/k, the weight of the masked cross-entropy when exactly k of n tokens are masked and k is uniform on
// 1..n: its mean is the continuous-time bound, with less variance than any schedule. No masks weigh 0.
func ExactCountWeight(n, k int) float64 {
	if k == 0 {
		return 0
	}
	return float64(n) / float64(k)
}
