package diffusion

import (
	"fmt"
	"math"
	"strings"

	"github.com/agext/levenshtein"
)

// Spec describes a schedule as `schedule` in mdm.json does; it has the fields of model.Schedule, so that one converts to
// the other: diffusion.Spec(manifest.Schedule).
type Spec struct {
	Kind string  // linear, polynomial, cosine or geometric; "" is linear
	C    float64 // polynomial: alpha_t = 1 - t^C, C > 0
	BMin float64 // geometric: b(0) >= 1e-100
	BMax float64 // geometric: b(1), above BMin up to 1e100
	A    float64 // of insertion models; no kind here reads it
	B    float64 // of insertion models; no kind here reads it
	Eps  float64 // shift into [Eps, 1-Eps], 0 <= Eps < 1/2
}

// Kinds lists the kinds of schedule.
func Kinds() []string { return []string{"linear", "polynomial", "cosine", "geometric"} }

// New returns the schedule, or an error that names the field, what it may be and the nearest kind.
func (s Spec) New() (*Schedule, error) {
	if !(s.Eps >= 0 && s.Eps < 0.5) {
		return nil, fmt.Errorf("schedule.eps %v: expected 0 <= eps < 0.5; the paper's is 1e-4, 0 leaves the schedule as it is", s.Eps)
	}
	out := &Schedule{spec: s, eps: s.Eps}
	switch s.Kind {
	case "", "linear":
		out.spec.Kind, out.curve = "linear", linear{}
	case "polynomial":
		if !(s.C > 0 && finite(s.C)) {
			return nil, fmt.Errorf("schedule.c %v: a polynomial schedule needs a finite c > 0; set c, for instance 2", s.C)
		}
		out.curve = polynomial{s.C}
	case "cosine":
		out.curve = cosine{}
	case "geometric":
		if !(s.BMin >= 1e-100 && s.BMax > s.BMin && s.BMax <= 1e100) {
			return nil, fmt.Errorf("schedule.b_min %v, schedule.b_max %v: a geometric schedule needs 1e-100 <= b_min < b_max <= 1e100; the paper plots 1e-5 and 20", s.BMin, s.BMax)
		}
		out.curve = geometric{s.BMin, s.BMax, math.Log(s.BMax / s.BMin)}
	case "per_token", "kumaraswamy":
		return nil, fmt.Errorf("schedule.kind %q: tokens or positions have schedules of their own there, no single alpha_t; expected one of %s", s.Kind, strings.Join(Kinds(), ", "))
	default:
		return nil, unknown("schedule.kind", s.Kind, Kinds())
	}
	return out, nil
}

// String is the schedule in one word, such as polynomial(c=3, eps=0.0001).
func (s Spec) String() string {
	var options []string
	switch s.Kind {
	case "polynomial":
		options = append(options, fmt.Sprintf("c=%v", s.C))
	case "geometric":
		options = append(options, fmt.Sprintf("b_min=%v", s.BMin), fmt.Sprintf("b_max=%v", s.BMax))
	}
	if s.Eps != 0 {
		options = append(options, fmt.Sprintf("eps=%v", s.Eps))
	}
	if options == nil {
		return s.Kind
	}
	return s.Kind + "(" + strings.Join(options, ", ") + ")"
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// unknown is the error for a name that is none of known; it names the nearest.
func unknown(what, name string, known []string) error {
	best, distance := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), k, nil); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Errorf("%s %q: did you mean %q? Expected one of %s", what, name, best, strings.Join(known, ", "))
	}
	return fmt.Errorf("%s %q: expected one of %s", what, name, strings.Join(known, ", "))
}
