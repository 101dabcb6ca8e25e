package interpolant

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
)

const (
	rows, width = 8, 9
	maskID      = 1
	padID       = 0
)

// TestContractionEqualsTheLoop holds the graph against the loop of package insertion, on random rows in random states: empty rows,
// rows of which everything is dropped, and full ones among them.
func TestContractionEqualsTheLoop(t *testing.T) {
	g := graph.NewBuilder("contract", graph.DefaultOpset)
	at := func(name string, typ graph.Type) graph.Value { return g.Input(name, typ, graph.Dims("B", "L")...) }
	r := Rows{g: g, k: 1, mask: g.Int(maskID), pad: padID, Tokens: at("tokens", graph.Int64)}
	s := States{Dropped: at("dropped", graph.Bool), Masked: at("masked", graph.Bool), Present: at("present", graph.Bool)}
	c := r.Contract(s, at("speeds", graph.Float32))
	var outputs []graph.Output
	for name, v := range map[string]graph.Value{"ids": c.IDs, "real": c.Real, "masks": c.Masked, "target": c.Target, "gap": c.Gap, "sum": c.Sum} {
		outputs = append(outputs, graph.Output{Name: name, Value: g.Cast(g.Identity(v), graph.Float32)})
	}
	run := try.Program(t, g, outputs, map[string]int64{"B": rows, "L": width}, 2)
	rapid.Check(t, func(t *rapid.T) {
		feeds, want := map[string][]float64{}, map[string][]float32{}
		for range rows {
			n := rapid.IntRange(0, width).Draw(t, "n")
			tokens, states, speeds := make([]int32, n), make([]int, n), make([]float64, n)
			for j := range width {
				token, state, speed := int32(padID), insertion.Padding, 1.0
				if j < n {
					token = rapid.Int32Range(2, 9).Draw(t, "token")
					state = rapid.IntRange(insertion.Dropped, insertion.Clean).Draw(t, "state")
					speed = float64(rapid.IntRange(1, 64).Draw(t, "speed")) / 8 // sums are exact
					tokens[j], states[j], speeds[j] = token, state, speed
				}
				feeds["tokens"] = append(feeds["tokens"], float64(token))
				feeds["speeds"] = append(feeds["speeds"], speed)
				for name, is := range map[string]bool{"dropped": state == insertion.Dropped, "masked": state == insertion.Masked, "present": state == insertion.Masked || state == insertion.Clean} {
					feeds[name] = append(feeds[name], number(is))
				}
			}
			c := insertion.Contract(tokens, states, speeds, maskID)
			for i := range width + 1 {
				sum, gap := 0.0, i <= len(c.Tokens)
				if gap {
					sum = c.Speeds[i]
				}
				want["sum"], want["gap"] = append(want["sum"], float32(sum)), append(want["gap"], float32(number(gap)))
				if i == width {
					break
				}
				id, masked, target := int32(padID), false, float32(-1)
				if i < len(c.Tokens) {
					id, masked, target = c.Tokens[i], c.Tokens[i] == maskID, float32(tokens[c.From[i]])
				}
				want["ids"], want["target"] = append(want["ids"], float32(id)), append(want["target"], target)
				want["masks"], want["real"] = append(want["masks"], float32(number(masked))), append(want["real"], float32(number(i < len(c.Tokens))))
			}
		}
		got := run(feeds)
		for i, real := range got["real"] {
			if real == 0 {
				got["target"][i] = -1 // any token may stand behind the row
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
