// Package density prefers sure positions that lie near what is known (certainty density, d2Cache, Jiang et al. 2025): the
// confidence times a Gaussian average of "this position is known". It pulls decoding towards the prompt and what is
// written, as blocks do, without their edges.
package density

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/planners/count"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "density".
type Options struct {
	Sigma      float64 `option:"sigma" default:"10" min:"0.1" max:"10000" help:"standard deviation of the Gaussian in positions; smaller keeps closer to what is known"`
	Confidence string  `option:"confidence" default:"max" enum:"max,drawn" help:"max: the largest probability; drawn: the probability of the drawn token (equal at temperature 0)"`
	On         string  `option:"on" default:"model" enum:"model,tempered" help:"distribution of the drawn token's probability: before temperature or after it"`
	K          int     `option:"k" default:"1" min:"1" help:"positions opened a step, with the schedules auto and k"`
	Schedule   string  `option:"schedule" default:"auto" enum:"auto,k,uniform,linear,dream,alpha,arccos,cosine,pow2,pow3,pow0.5,log,exp,stochastic_transfer" help:"how many positions each step opens, as for the planner confidence"`
}

// New returns the planner "density".
func New() sampling.Planner {
	return sdk.NewRunPlanner("density", build, sdk.Needs(sdk.P1, sdk.LogpProposal, sdk.Uniform), sdk.NeedsFor(needs), sdk.Pure(),
		sdk.Version("1.0.0"), sdk.Summary("opens sure positions near what is known first (certainty density of d2Cache)"))
}

func needs(o Options) sampling.Needs {
	return count.Needs(o.Schedule, certainty.NeedsOf(o.Confidence, o.On))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, o.On)
	if err != nil {
		return nil, err
	}
	known := newSmooth(o.Sigma)
	return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions {
		score, eligible := c.Of(r), r.Eligible()
		if k < eligible.Len() {
			known.read(r.Flags)
			for _, i := range eligible.Indices() {
				score[i] *= known.at(int(i))
			}
		}
		return eligible.LargestBy64(score, k)
	})
}

// smooth is the indicator of known positions, averaged with a Gaussian kernel.
type smooth struct {
	kernel []float64 // [radius+1] weights of the distances 0, 1, ...; all distances of both sides sum to 1
	known  []float64 // [radius + n + radius] 1 where the position is known: left of the window, never right of it
}

// newSmooth cuts the kernel off at four standard deviations.
func newSmooth(sigma float64) *smooth {
	s, sum := &smooth{}, 0.0
	for d := range int(4*sigma+0.5) + 1 {
		w := math.Exp(-0.5 * float64(d*d) / (sigma * sigma))
		s.kernel = append(s.kernel, w)
		if sum += w; d > 0 {
			sum += w
		}
	}
	for d := range s.kernel {
		s.kernel[d] /= sum
	}
	return s
}

func (s *smooth) read(flags []sampling.Flags) {
	radius := len(s.kernel) - 1
	s.known = s.known[:0]
	for range radius {
		s.known = append(s.known, 1)
	}
	for _, f := range flags {
		x := 1.0
		if f&sampling.Masked != 0 {
			x = 0
		}
		s.known = append(s.known, x)
	}
	for range radius {
		s.known = append(s.known, 0)
	}
}

// at returns the density of position i.
func (s *smooth) at(i int) float64 {
	radius := len(s.kernel) - 1
	around := s.known[i : i+2*radius+1]
	left, right := around[:radius], around[radius+1:]
	sum := s.kernel[0] * around[radius]
	for d := 1; d <= radius; d++ {
		sum += s.kernel[d] * (left[radius-d] + right[d-1])
	}
	return sum
}
