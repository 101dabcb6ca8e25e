package web

import (
	"cmp"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model"
)

//go:embed verify
var verifier embed.FS

// asked is reference.json: [exporters.Reference] by rows without their padding, and texts.
type asked struct {
	Rows      [][]int64  `json:"rows"`
	Timesteps []float32  `json:"timesteps"`
	Begin     [][]int64  `json:"begin"`
	Written   [][]int64  `json:"written"`
	Order     [][]int64  `json:"order"`
	Questions []question `json:"questions"`
}

// answered is what the browser says at the end.
type answered struct {
	Error   string   `json:"error"`
	Agent   string   `json:"agent"`
	Choices [][4]int `json:"choices"` // row, position of the reference, own position, own token
	Rows    []struct {
		Tokens []int32 `json:"tokens"`
		Frozen []bool  `json:"frozen"`
		Error  string  `json:"error"`
	} `json:"rows"`
}

// Verify implements [exporters.Target]. The browser gets the export from a server on this machine's loopback, under a path of its own, with a
// page that uses the export's modules.
func (target) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	browser, err := findBrowser(o.Browser)
	if err != nil {
		return nil, err
	}
	r, err := s.Reference(ctx)
	if err != nil {
		return nil, err
	}
	f, err := describe(s, o, 0)
	if err != nil {
		return nil, err
	}
	ask := asked{Timesteps: r.Timesteps, Questions: f.Examples}
	lengths := make([]int, r.B)
	for i := range r.B {
		row := func(of []int64) []int64 { return of[i*r.L : i*r.L+lengths[i]] }
		for _, real := range r.AttentionMask[i*r.L : (i+1)*r.L] {
			lengths[i] += int(real)
		}
		ask.Rows, ask.Begin = append(ask.Rows, row(r.InputIDs)), append(ask.Begin, row(r.Begin))
		ask.Written, ask.Order = append(ask.Written, row(r.Written)), append(ask.Order, row(r.Order))
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	parts, err := converse(ctx, browser, dir, body)
	if err != nil {
		return nil, err
	}
	var a answered
	if err := json.Unmarshal(parts["end"], &a); err != nil {
		return nil, fmt.Errorf("the browser's answer: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	if err := sameRows(s.Model, f.Examples, &a); err != nil {
		return nil, err
	}
	v := &exporters.Verdict{Stack: stack(a.Agent), Limit: r.Limit()}
	for _, n := range lengths {
		v.Positions += n
	}
	for _, c := range []struct {
		name  string
		want  []float32
		width int // numbers a position
		more  int // positions of a row beside those of its tokens
		to    *float64
	}{{"logits", r.Logits, r.V, 0, &v.MaxLogit}, {"insertion_rate", r.InsertionRate, 1, 1, &v.MaxRate}, {"unmask_rate", r.UnmaskRate, 1, 0, &v.MaxRate}} {
		if c.want == nil {
			continue
		}
		off, err := differ(c.name, parts[c.name], c.want, lengths, r.L+c.more, c.width, c.more, c.to == &v.MaxRate)
		if err != nil {
			return nil, err
		}
		*c.to = max(*c.to, off)
	}
	return v, count(v, r, a.Choices)
}

// differ is the largest difference of numbers that came, row by row, from those of the reference, whose rows have stride positions.
func differ(name string, got []byte, want []float32, lengths []int, stride, width, more int, relative bool) (largest float64, err error) {
	for i, n := range lengths {
		for k := range (n + more) * width {
			if len(got) < 4 {
				return 0, fmt.Errorf("%s: the browser gave too few numbers", name)
			}
			x, y := float64(math.Float32frombits(binary.LittleEndian.Uint32(got))), float64(want[i*stride*width+k])
			got = got[4:]
			off := math.Abs(x - y)
			switch {
			case x == y: // infinities, too
				continue
			case relative && y != 0:
				off /= math.Abs(y)
			}
			if !(off <= math.MaxFloat64) {
				return 0, fmt.Errorf("%s: the browser gives %g where the source gives %g", name, x, y)
			}
			largest = max(largest, off)
		}
	}
	if len(got) > 0 {
		return 0, fmt.Errorf("%s: the browser gave %d bytes too many", name, len(got))
	}
	return largest, nil
}

// count holds the choices against the reference's.
func count(v *exporters.Verdict, r *exporters.Reference, choices [][4]int) error {
	want := 0
	for _, pass := range r.Order {
		if pass >= 0 {
			want++
		}
	}
	if len(choices) != want {
		return fmt.Errorf("the browser opened %d masks of %d", len(choices), want)
	}
	for _, c := range choices {
		i, at, own, token := c[0], c[1], c[2], c[3]
		if i < 0 || i >= r.B || at < 0 || at >= r.L {
			return fmt.Errorf("the browser names position %d of row %d, which is not there", at, i)
		}
		r.Count(v, i*r.L+at, i*r.L+own, int64(token))
	}
	return nil
}

// sameRows holds the rows that the page makes of the model's examples against the host's.
func sameRows(m *model.Model, questions []question, a *answered) error {
	if len(a.Rows) != len(questions) {
		return fmt.Errorf("the browser read %d of %d texts", len(a.Rows), len(questions))
	}
	for k, q := range questions {
		encode, text := m.EncodeInfill, ""
		if q.Infill != nil {
			text = *q.Infill
		} else {
			text, encode = *q.Prompt, func(t string) (model.Row, error) { return m.EncodePrompt(t, 0) }
		}
		row, err := encode(text)
		got := a.Rows[k]
		if (err != nil) != (got.Error != "") || err == nil && (!slices.Equal(row.Tokens, got.Tokens) || !slices.Equal(row.FrozenGap, got.Frozen)) {
			return fmt.Errorf("the example %.60q has the tokens %v in the browser, %s and %v in the source: its tokenizer reads tokenizer.json otherwise; take the model elsewhere with --to transformers or --to onnx",
				text, got.Tokens, cmp.Or(got.Error, "without an error"), row.Tokens)
		}
	}
	return nil
}

// stack names what answered by the browser's own words.
func stack(agent string) string {
	for _, word := range strings.Fields(agent) {
		if name, version, _ := strings.Cut(word, "/"); strings.Contains(name, "Chrom") {
			return "ONNX Runtime Web " + runtimeVersion + " in Chromium " + version
		}
	}
	return "ONNX Runtime Web " + runtimeVersion
}
