package remdm

// move is what a step does to a position: a masked one opens with one probability, a written one is masked again with the
// other.
type move struct{ open, remask float64 }

// move returns the probabilities of the step between two points of the noise schedule.
func (o Options) move(alphaT, alphaS float64) move {
	t, looping := 1-alphaT, false
	if o.Strategy == "loop" {
		looping = o.TOff < t && t <= o.TOn
		alphaT, alphaS = o.warp(t), o.warp(1-alphaS)
	}
	if alphaT >= 1 {
		return move{open: 1}
	}
	most := 1.0 // sigma_max: beyond it a masked position would have to open with a negative probability
	if alphaT > 0 {
		most = min(1, (1-alphaS)/alphaT)
	}
	sigma := 0.0
	switch {
	case o.Strategy == "loop" && looping:
		sigma = min(o.Eta, most)
	case o.Strategy == "loop" || t >= o.TSwitch:
	case o.Strategy == "cap":
		sigma = min(o.Eta, most)
	case o.Strategy == "rescale":
		sigma = o.Eta * most
	case o.Strategy == "conf":
		// Public code lets masked positions open as if nothing were masked again: weights are shares of one sigma.
		return move{open: (alphaS - alphaT) / (1 - alphaT), remask: o.Eta * most}
	case alphaT <= 0:
		sigma = 1
	default: // forward_backward; a step that doubles what is written would need more than all of it
		sigma = min((alphaS-alphaT)/alphaT, most)
	}
	return move{open: (alphaS - (1-sigma)*alphaT) / (1 - alphaT), remask: sigma}
}

// revises tells whether a step that begins at the mask fraction t, or a later one, may mask anything again.
func (o Options) revises(t float64) bool {
	switch o.Strategy {
	case "forward_backward":
		return o.TSwitch > 0
	case "loop":
		return o.Eta > 0 && t > o.TOff
	}
	return o.Eta > 0 && o.TSwitch > 0
}

// warp is the loop's own noise schedule: alpha rises to alpha_on at t_on, stays until t_off and then goes to 1. Public
// code takes both ends of a step from the phase in which it begins, so that a step across a bend writes too much or too
// little; here each end has its own.
func (o Options) warp(t float64) float64 {
	switch {
	case t > o.TOn:
		return (1 - t) * o.AlphaOn / (1 - o.TOn)
	case t > o.TOff:
		return o.AlphaOn
	case t <= 0:
		return 1
	}
	return 1 - t*(1-o.AlphaOn)/o.TOff
}
