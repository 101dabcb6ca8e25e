package p2

import (
	"errors"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// scorer is log G of one position: how much its token, proposed or present, deserves to stand after the step.
type scorer func(r sdk.Row, i int32) float64

// scorers are the kinds of G_M and G_U that do not ask which token is meant (section 3.3 of the sheet p2.md).
var scorers = map[string]scorer{
	"uniform": func(r sdk.Row, i int32) float64 { return math.Log(r.Uniform[i]) },
	"margin": func(r sdk.Row, i int32) float64 {
		return math.Log(max(float64(r.P1[i])-float64(r.P2[i]), 0x1p-53)) // equal probabilities are far behind, not out of reach
	},
	"neg_entropy": func(r sdk.Row, i int32) float64 { return -float64(r.Entropy[i]) },
	"bert":        network,
	"trained":     network,
}

// network is the score of the planner's own network, a log-probability.
func network(r sdk.Row, i int32) float64 { return float64(r.PlannerScore[i]) }

// proposed and present are the kind "denoiser": the log-probability of the proposal and of the token that stands there.
func proposed(r sdk.Row, i int32) float64 { return float64(r.LogpProposal[i]) }
func present(r sdk.Row, i int32) float64  { return float64(r.LogpCurrent[i]) }

// scores gives every free position its place in the order: the higher, the sooner it is kept (P2, eq. 7).
type scores struct {
	gM, gU     scorer  // log G_M and log G_U; gU is nil where written tokens are never masked again
	lift       float64 // added to the log-scores of masked positions
	powM, powU float64 // factors of the log-scores of masked and of written positions
}

// scoresOf returns the scores that the options ask for. The three modes of eta agree at 1 and differ elsewhere (section 3.5).
func scoresOf(o Options) (s scores, err error) {
	if math.IsInf(o.Eta, 1) {
		return s, errors.New("eta inf: expected a finite number; 1 is the default, 0 never masks again")
	}
	s = scores{gM: scorers[o.MaskScore], gU: scorers[o.UnmaskScore], powM: 1, powU: 1}
	if o.MaskScore == "denoiser" {
		s.gM = proposed
	}
	switch {
	case o.keeps():
		s.gU = nil
	case o.UnmaskScore == "denoiser" && o.redraws():
		s.gU = proposed
	case o.UnmaskScore == "denoiser":
		s.gU = present
	}
	switch {
	case o.EtaMode == "code_masked":
		s.powM = o.Eta
	case o.keeps(): // the other modes weigh the two groups against each other, and there is one
	case o.EtaMode == "paper":
		s.lift = math.Log(o.Eta)
	default:
		s.powU = o.Eta
	}
	return s, nil
}

// fresh scores a masked position.
func (s *scores) fresh(r sdk.Row, i int32) float64 {
	if s.powM == 0 {
		return 0 // also where G_M is 0
	}
	return float64(s.gM(r, i)*s.powM) + s.lift
}

// written scores a position that holds a token.
func (s *scores) written(r sdk.Row, i int32) float64 { return s.gU(r, i) * s.powU }

// needs returns the statistics that the options read.
func needs(o Options) (n sampling.Needs) {
	kinds := []string{o.MaskScore}
	if !o.keeps() {
		kinds = append(kinds, o.UnmaskScore)
		n.LogpCurrent = o.UnmaskScore == "denoiser" && !o.redraws()
	}
	for at, kind := range kinds {
		switch kind {
		case "denoiser":
			if at == 0 || o.redraws() {
				n.LogpProposal = o.on()
			}
		case "uniform":
			n.Uniform = true
		case "margin":
			n.P1, n.P2 = true, true
		case "neg_entropy":
			n.Entropy = sampling.OnModel
		case "bert", "trained":
			n.PlannerScore = true
		}
	}
	n.Gumbel = o.PlannerTemperature > 0
	n.Proposal = o.Condition == "cond"
	return n
}
