package p2

import (
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Options of the planner "p2".
type Options struct {
	Kappa              string  `option:"kappa" default:"linear" enum:"linear,cosine,sine,half_cosine,quad,sqrt,geometric,log" help:"fraction unmasked as a function of progress"`
	Eta                float64 `option:"eta" default:"1" min:"0" help:"stochasticity strength: larger masks more written tokens again, 0 none (but see eta_mode)"`
	EtaMode            string  `option:"eta_mode" default:"code" enum:"code,paper,code_masked" help:"code: the probability of written tokens to the power eta; paper: the probability of proposals times eta; code_masked: the probability of proposals to the power eta, as one third-party port has it, which turns the meaning round: a larger eta masks fewer written tokens again. Only to repeat that port's results"`
	MaskScore          string  `option:"mask_score" default:"denoiser" enum:"denoiser,uniform,margin,neg_entropy,bert,trained" help:"G_M, what ranks masked positions: denoiser = log-probability of the proposal; uniform = a random order; margin = log(p1 - p2); neg_entropy = -H; bert, trained = the planner's own network (planner.network), whichever of the two it is"`
	UnmaskScore        string  `option:"unmask_score" default:"denoiser" enum:"denoiser,uniform,keep,margin,neg_entropy,bert,trained" help:"G_U, what ranks written positions: keep = never mask them again; denoiser = log-probability of the token that unmask_token names; the others as in mask_score"`
	UnmaskToken        string  `option:"unmask_token" default:"current" enum:"current,redrawn" help:"the token that unmask_score denoiser speaks of: current = the one that stands there; redrawn = a fresh draw, as in the public code, which revises far more at random. The token that stands there is kept either way"`
	ScoreLogits        string  `option:"score_logits" default:"clean" enum:"clean,tempered,noised" help:"log-probabilities of proposals and redrawn tokens before (clean) or after (tempered) the temperature, or of the logits with the Gumbel noise that drew the token (noised), as in the public code, which favours lucky tokens; noised needs sampling.draw gumbel"`
	PlannerTemperature float64 `option:"planner_temperature" default:"0" min:"0" help:"Gumbel noise on the log-scores, so that positions are drawn without replacement; 0 takes the best"`
	PlannerAnneal      string  `option:"planner_anneal" default:"none" enum:"none,linear,kappa" help:"factor of that noise: none = 1; linear = 1 - progress (MaskGIT); kappa = the fraction that stays masked (RDM)"`
	Condition          string  `option:"condition" default:"uncond" enum:"uncond,cond" help:"cond: of the written positions that would be masked again only those are whose redrawn token repeats the present one with a lower log-probability than when it was written (RDM). Needs the scores denoiser and unmask_token redrawn"`
}

// keeps tells whether written positions are never masked again.
func (o Options) keeps() bool {
	return o.UnmaskScore == "keep" || o.Eta == 0 && o.EtaMode != "code_masked"
}

func (o Options) redraws() bool { return o.UnmaskToken == "redrawn" }

// on is the distribution of the log-probabilities of proposals.
func (o Options) on() sampling.On {
	switch o.ScoreLogits {
	case "tempered":
		return sampling.OnTempered
	case "noised":
		return sampling.OnNoised
	}
	return sampling.OnModel
}

// check refuses combinations that mean nothing or that the host does not serve.
func (o Options) check(run sampling.Run) error {
	n := needs(o)
	switch {
	case n.PlannerScore && !run.Capabilities.Serves.PlannerScore:
		option, kind := "mask_score", o.MaskScore
		if kind != "bert" && kind != "trained" {
			option, kind = "unmask_score", o.UnmaskScore
		}
		return fmt.Errorf("%s %s: expected the planner's own network, and none is named; name one with --set planner.network=DIR (a planner network, a masked language model or an embedded model), or set planner.%s to denoiser, margin, neg_entropy or uniform",
			option, kind, option)
	case n.PlannerScore && o.redraws():
		return errors.New("unmask_token redrawn: expected current, since the planner's network reads proposals beside the tokens that stand there; set planner.unmask_token to current")
	case o.ScoreLogits != "clean" && (n.LogpCurrent || n.P1 || n.Entropy != sampling.NotNeeded):
		return fmt.Errorf("score_logits %s: expected scores of drawn tokens alone, since those of present tokens, margins and entropies are of the model, before temperature; set planner.score_logits to clean, or planner.unmask_token to redrawn", o.ScoreLogits)
	case o.Condition == "cond" && (o.MaskScore != "denoiser" || o.UnmaskScore != "denoiser" || !o.redraws()):
		return errors.New("condition cond: expected mask_score and unmask_score denoiser with unmask_token redrawn, whose log-probabilities it compares; set them so, or planner.condition to uncond")
	}
	return nil
}
