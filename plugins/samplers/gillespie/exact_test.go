package gillespie_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// law is the exact distribution over finished rows of P2's jump chain (P2, Algorithm 5) with the denoiser as both planners,
// or of the MDM's where written positions are kept. The chain is followed until next to nothing is on its way.
func (m model) law(t *testing.T, l int, plans bool) map[string]float64 {
	t.Helper()
	probabilities := func(canvas []byte) []float64 { // [L, V]
		if _, err := m.Batch(1, l); err != nil {
			t.Fatal(err)
		}
		for i, x := range canvas {
			m.batch.Tokens[i], m.batch.Attention[i] = int64(x), 1
		}
		p := m.logits()
		out := make([]float64, 0, l*m.v)
		for i := range l {
			sum := 0.0
			for _, z := range p[i*(m.v+1) : (i+1)*(m.v+1)-1] {
				sum += math.Exp(float64(z))
			}
			for _, z := range p[i*(m.v+1) : (i+1)*(m.v+1)-1] {
				out = append(out, math.Exp(float64(z))/sum)
			}
		}
		return out
	}
	with := func(canvas []byte, i int, token int) string {
		out := bytes.Clone(canvas)
		out[i] = byte(token)
		return string(out)
	}
	jump := func(canvas []byte, mass float64, to map[string]float64) {
		p := probabilities(canvas)
		var draw func(i int, z []byte, q float64)
		draw = func(i int, z []byte, q float64) {
			if i < l && int(canvas[i]) == m.v {
				for v := range m.v {
					draw(i+1, append(bytes.Clone(z), byte(v)), q*p[i*m.v+v])
				}
				return
			} else if i < l {
				draw(i+1, append(bytes.Clone(z), canvas[i]), q)
				return
			}
			w, sum := make([]float64, l), 0.0
			for i := range l {
				switch {
				case int(canvas[i]) == m.v && plans:
					w[i] = p[i*m.v+int(z[i])]
				case int(canvas[i]) == m.v:
					w[i] = 1
				case plans:
					w[i] = 1 - p[i*m.v+int(z[i])]
				}
				sum += w[i]
			}
			for i := range l {
				if share := q * w[i] / sum; int(canvas[i]) == m.v {
					to[with(canvas, i, int(z[i]))] += share
				} else if w[i] > 0 {
					without := []byte(with(canvas, i, m.v))
					for v, d := range probabilities(without)[i*m.v : (i+1)*m.v] {
						to[with(canvas, i, v)] += share * d
					}
				}
			}
		}
		draw(0, nil, mass)
	}
	at, done := map[string]float64{string(bytes.Repeat([]byte{byte(m.v)}, l)): 1}, map[string]float64{}
	for left := 1.0; left > 1e-9; {
		next := map[string]float64{}
		for canvas, mass := range at {
			jump([]byte(canvas), mass, next)
		}
		left = 0
		for canvas, mass := range next {
			if !bytes.Contains([]byte(canvas), []byte{byte(m.v)}) {
				done[canvas] += mass
				delete(next, canvas)
			}
			left += next[canvas]
		}
		at = next
	}
	return done
}

// Rows that the host samples follow the chain's exact law. The bound on the total variation is exceeded by chance in at
// most one case in 10^8: its mean is at most sum_i sqrt(p_i (1-p_i)/n)/2, and McDiarmid bounds the rest.
func TestExactLaw(t *testing.T) {
	const n, l = 20000, 3
	m := model{v: 3, seed: 77}
	var requests []sampling.Request
	for i := range n {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: []int32{3, 3, 3}, Steps: 400, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	for options, plans := range map[string]bool{`{}`: false, `{"mask_score":"denoiser","unmask_score":"denoiser"}`: true} {
		want, most := m.law(t, l, plans), math.Sqrt(math.Log(1e8)/(2*n))
		out, err := run(t, m, options, true, 64, requests)
		if err != nil {
			t.Fatal(err)
		}
		tv, got, revised := 0.0, map[string]float64{}, 0
		for _, r := range out {
			got[string([]byte{byte(r.Tokens[0]), byte(r.Tokens[1]), byte(r.Tokens[2])})] += 1.0 / n
			revised += r.Revised
		}
		for row, p := range want {
			tv += math.Abs(got[row]-p) / 2
			most += math.Sqrt(p*(1-p)/n) / 2
		}
		if tv > most || plans != (revised > 0) {
			t.Errorf("%s: total variation %.4f from the chain's law, at most %.4f by chance; %d positions drawn anew", options, tv, most, revised)
		}
		t.Logf("%s: total variation %.4f, %d positions drawn anew", options, tv, revised)
	}
}
