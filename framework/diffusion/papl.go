package diffusion

import (
	"fmt"
	"math"
)

// Form says how PAPL weighs the masked positions of a row.
type Form string

// The forms of the loss. n_b counts the masks of row b, w are the [PlannerWeights], p_i = mu[i, x0[i]].
const (
	Paper    Form = "paper"     // (1/n_b)(1 + alpha w_i), mean over rows: equation 7
	PELBO    Form = "pelbo"     // 1/n_b + alpha w_i, mean over rows: the interpolation with the P-ELBO read literally
	OpenDLLM Form = "open_dllm" // (1 + alpha p_i/r_b)/N_tot, summed over the batch: the authors' code for code generation
)

// Forms lists the names of the forms.
func Forms() []string { return []string{string(Paper), string(PELBO), string(OpenDLLM)} }

// ParseForm returns the form of that name.
func ParseForm(name string) (Form, error) {
	switch f := Form(name); f {
	case Paper, PELBO, OpenDLLM:
		return f, nil
	}
	return "", unknown("papl form", name, Forms())
}

// PAPL is the planner-aware loss (Planner-Aware Path Learning, algorithm 1 and equation 7) with the denoiser's soft-greedy
// planner on the true tokens.
type PAPL struct {
	Form  Form
	Alpha float64 // strength of the planner's weight, >= 0; the paper's default is 1
	Tau   float64 // the planner's temperature, >= 0: 0 is greedy, +Inf uniform; OpenDLLM does not use it
}

// Check refuses a form, strength or temperature out of range.
func (p PAPL) Check() error {
	if _, err := ParseForm(string(p.Form)); err != nil {
		return err
	}
	if !(p.Alpha >= 0 && finite(p.Alpha)) {
		return fmt.Errorf("papl alpha %v: expected a finite number >= 0; the paper's is 1", p.Alpha)
	}
	if !(p.Tau >= 0) {
		return fmt.Errorf("papl tau %v: expected a number >= 0, 0 for greedy and +Inf for uniform; the paper's is 1", p.Tau)
	}
	return nil
}

// PlannerWeights fills w [L] with the soft-greedy planner G^tau(x0, x_k) of one row: softmax over the masked positions of
// logp/tau, 0 elsewhere; logp [L] is log mu[i, x0[i]]. tau 0 is the one-hot of the most likely token, the lowest position
// on ties; +Inf is 1/n. A row without masks is all 0; one whose masked tokens all have probability 0 is uniform.
func PlannerWeights(w, logp []float64, masked []bool, tau float64) {
	clear(w)
	top, n := -1, 0
	for i, m := range masked {
		if m {
			if n++; top < 0 || logp[i] > logp[top] {
				top = i
			}
		}
	}
	if n == 0 {
		return
	}
	if tau == 0 {
		w[top] = 1
		return
	}
	uniform := math.IsInf(tau, 1) || math.IsInf(logp[top], -1)
	sum := 0.0
	for i, m := range masked {
		switch {
		case m && uniform:
			w[i] = 1
		case m:
			w[i] = math.Exp((logp[i] - logp[top]) / tau)
		}
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
}

// Coefficients fills coef [B, L] with the coefficient of -log mu[i, x0[i]] at every masked position, 0 elsewhere; the planner
// is a constant for the gradient (detached). logp and masked are [B, L]; ratio [B] is the chance r_b with which a row's
// tokens were masked, read by OpenDLLM only (nil: 1). The gradient for the logits of a masked position is
// coef (softmax - onehot(x0)).
func (p PAPL) Coefficients(coef, logp []float64, masked []bool, ratio []float64, L int) {
	if L == 0 {
		return
	}
	total := count(masked)
	rows := float64(len(masked) / L)
	for b := 0; b*L < len(masked); b++ {
		c, lp, m := coef[b*L:(b+1)*L], logp[b*L:(b+1)*L], masked[b*L:(b+1)*L]
		n := float64(count(m))
		PlannerWeights(c, lp, m, p.Tau) // w, replaced below
		for i := range c {
			switch {
			case !m[i]:
			case p.Form == Paper:
				c[i] = (1 + p.Alpha*c[i]) / n / rows
			case p.Form == PELBO:
				c[i] = (1/n + p.Alpha*c[i]) / rows
			case p.Form == OpenDLLM:
				r := 1.0
				if ratio != nil {
					r = ratio[b]
				}
				c[i] = (1 + p.Alpha*math.Exp(lp[i])/r) / float64(total)
			}
		}
	}
}

// Loss is the loss of a batch in nats; arguments are those of [PAPL.Coefficients]. Rows without masks count 0 and, in the
// forms that average rows, count as rows.
func (p PAPL) Loss(logp []float64, masked []bool, ratio []float64, L int) float64 {
	coef := make([]float64, len(logp))
	p.Coefficients(coef, logp, masked, ratio, L)
	loss := 0.0
	for i, m := range masked {
		if m {
			loss -= coef[i] * logp[i]
		}
	}
	return loss
}

func count(masked []bool) int {
	n := 0
	for _, m := range masked {
		if m {
			n++
		}
	}
	return n
}
