package exporters

import (
	"fmt"
	"math"
	"slices"
)

// nearTie is the margin below which two choices count as equal.
const nearTie = 1e-5

// Answer is what a stack gives for the rows of a [Reference]; rates where the reference has them. The slices may be reused by the next answer.
type Answer struct{ Logits, InsertionRate, UnmaskRate []float32 }

// Compare holds the answers of a stack in this process against the reference. answer is asked for input_ids [B, L]; attention mask and
// timesteps are the reference's. Numbers that are none are an error.
func (r *Reference) Compare(stack string, answer func(ids []int64) (Answer, error)) (*Verdict, error) {
	got, err := answer(r.InputIDs)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Stack: stack}
	for i, real := range r.AttentionMask {
		if real == 0 {
			continue
		}
		v.Positions++
		for k, want := range r.Logits[i*r.V : (i+1)*r.V] {
			v.MaxLogit = worse(v.MaxLogit, got.Logits[i*r.V+k], want, 1)
		}
		if r.UnmaskRate != nil {
			v.MaxRate = worse(v.MaxRate, got.UnmaskRate[i], r.UnmaskRate[i], r.UnmaskRate[i])
		}
		if r.InsertionRate != nil {
			gap := i + i/r.L // before the position, in [B, L+1]
			v.MaxRate = worse(v.MaxRate, got.InsertionRate[gap], r.InsertionRate[gap], r.InsertionRate[gap])
			v.MaxRate = worse(v.MaxRate, got.InsertionRate[gap+1], r.InsertionRate[gap+1], r.InsertionRate[gap+1])
		}
	}
	if math.IsNaN(v.MaxLogit) || math.IsNaN(v.MaxRate) {
		return nil, fmt.Errorf("%s: it answers with what is no number; expected those of the source", stack)
	}
	v.Limit = r.Limit()
	return v, r.rewrite(v, answer)
}

// worse is the larger of the difference so far and that of two numbers, as a part of unit; equal infinities do not differ.
func worse(largest float64, got, want, unit float32) float64 {
	if got == want {
		return largest
	}
	d := math.Abs(float64(got) - float64(want))
	if unit != 0 {
		d /= math.Abs(float64(unit))
	}
	if math.IsInf(d, 0) {
		d = math.NaN()
	}
	if math.IsNaN(largest) || largest >= d {
		return largest
	}
	return d
}

// rewrite opens the masks one by one as the source did, and counts where the stack would have gone on otherwise.
func (r *Reference) rewrite(v *Verdict, answer func([]int64) (Answer, error)) error {
	never := make([]bool, r.V)
	for _, id := range r.Never {
		never[id] = true
	}
	rows := slices.Clone(r.Begin)
	for pass := range slices.Max(r.Order) + 1 {
		got, err := answer(rows)
		if err != nil {
			return err
		}
		for i := range r.B {
			at := slices.Index(r.Order[i*r.L:(i+1)*r.L], pass) + i*r.L
			if at < i*r.L {
				continue
			}
			own, token, most := -1, int64(0), 0.0
			for p := i * r.L; p < (i+1)*r.L; p++ {
				if rows[p] != r.Mask {
					continue
				}
				if id, p1, _ := top(got.Logits[p*r.V:(p+1)*r.V], never); own < 0 || p1 > most {
					own, token, most = p, id, p1
				}
			}
			r.Count(v, at, own, token)
		}
		for p, order := range r.Order {
			if order == pass {
				rows[p] = r.Written[p]
			}
		}
	}
	return nil
}

// Count adds a choice to the verdict: where the source opened position at, counted through [B, L], the stack would have opened own with token.
func (r *Reference) Count(v *Verdict, at, own int, token int64) {
	if v.Tokens++; own != at || token != r.Written[at] {
		if v.TokenErrors++; r.Margin[at] < nearTie {
			v.NearTies++
		}
	}
}
