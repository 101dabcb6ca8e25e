package diffusion

import "math"

// Schedule is a masking schedule alpha_t (sheet md4 3.2) with the epsilon shift alpha -> (1-2 eps) alpha + eps.
// Every quantity has its own closed form: none is computed as one minus another, so all keep their digits where alpha is
// near 1 and where it is near 0. Times lie in [0, 1]; other times give NaN or values without meaning.
type Schedule struct {
	spec  Spec
	curve curve
	eps   float64
}

// curve is a schedule before the epsilon shift.
type curve interface {
	alpha(t float64) float64
	u(t float64) float64        // 1 - alpha
	slope(t float64) float64    // du/dt = -alpha'
	weight(t float64) float64   // slope / u
	delta(s, t float64) float64 // u(t) - u(s) without cancellation, s <= t
	inverse(u float64) float64  // the time at which u(t) = u
}

// Spec returns what the schedule was made from.
func (s *Schedule) Spec() Spec { return s.spec }

// String is the schedule in one word, such as polynomial(c=3, eps=0.0001).
func (s *Schedule) String() string { return s.spec.String() }

// Alpha is alpha_t, the probability that a token is still visible at t.
func (s *Schedule) Alpha(t float64) float64 { return (1-2*s.eps)*s.curve.alpha(t) + s.eps }

// U is u_t = 1 - alpha_t, the probability that a token is masked at t.
func (s *Schedule) U(t float64) float64 { return (1-2*s.eps)*s.curve.u(t) + s.eps }

// AlphaPrime is the derivative alpha'_t <= 0. A polynomial with c < 1 has -Inf at t = 0.
func (s *Schedule) AlphaPrime(t float64) float64 { return -(1 - 2*s.eps) * s.curve.slope(t) }

// Weight is w(t) = -alpha'_t / (1 - alpha_t) >= 0, the weight of the cross-entropy in the continuous-time bound (sheet md4
// 3.5; the paper tabulates its negative). Without epsilon shift it is +Inf at t = 0 but for the geometric schedule.
func (s *Schedule) Weight(t float64) float64 {
	if s.eps == 0 {
		return s.curve.weight(t)
	}
	return -s.AlphaPrime(t) / s.U(t)
}

// LogSNR is lambda_t = log(alpha_t / (1 - alpha_t)), from +Inf (or its value with epsilon) down.
func (s *Schedule) LogSNR(t float64) float64 { return math.Log(s.Alpha(t)) - math.Log(s.U(t)) }

// Inverse is the time at which a fraction u is masked: U(Inverse(u)) = u. Fractions below U(0) give 0, above U(1) give 1.
func (s *Schedule) Inverse(u float64) float64 {
	if u <= s.U(0) {
		return 0
	}
	if u >= s.U(1) {
		return 1
	}
	return min(max(s.curve.inverse((u-s.eps)/(1-2*s.eps)), 0), 1)
}

// Rho is rho(s, t) = (alpha_s - alpha_t) / (1 - alpha_t), the chance that a mask of time t is revealed in the step from t
// down to from (sheet md4 3.3), for 0 <= from <= t. It is exact to rounding however short the step is,
// and 0 where nothing can be masked (u_t = 0).
func (s *Schedule) Rho(from, t float64) float64 {
	u := s.U(t)
	if u == 0 {
		return 0
	}
	return (1 - 2*s.eps) * s.curve.delta(from, t) / u
}

// Reconstruction is the bound's reconstruction term N (1 - alpha_0) log m in nats per sequence of n tokens: what a uniform
// guess costs for tokens that are masked at t = 0 already. It is 0 or N eps log m, but for the geometric schedule.
func (s *Schedule) Reconstruction(n, m int) float64 {
	return float64(n) * s.U(0) * math.Log(float64(m))
}

// Prior is the bound's prior term N alpha_1 log m in nats per sequence of n tokens: the divergence from a prior that spreads
// what is visible at t = 1 evenly over the m real tokens. The authors' code leaves it out; reports say which are counted.
func (s *Schedule) Prior(n, m int) float64 {
	return float64(n) * s.Alpha(1) * math.Log(float64(m))
}
