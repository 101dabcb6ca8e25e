package synthetic_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/synthetic"
)

// near compares metrics.
func near(t *testing.T, what string, want, got map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// line is a row whose text came in at these steps behind its prompt, and an end.
func line(prompt, text string, steps, born []int32) synthetic.Line {
	l := synthetic.Line{Text: prompt + text}
	for range prompt {
		l.StepMap = append(l.StepMap, -1)
	}
	if born != nil {
		l.Born = append(append(slices.Clone(l.StepMap), born...), -1)
	}
	l.StepMap = append(append(l.StepMap, steps...), -1)
	l.Pieces = append(strings.Split(prompt+text, ""), "[EOS]")
	return l
}

// The path is Aaabbd, its junction b; its characters are 2 1 1 0 0 1 edges away.
func TestStarJudge(t *testing.T) {
	const prompt = "c9abAabdbcAd>"
	j := &synthetic.StarJudge{}
	judge := func(l synthetic.Line) map[string]float64 {
		m, err := j.Row(l)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := pearson([]float64{5, 3, 3, .5, .5, 3}, []float64{2, 1, 1, 0, 0, 1})
	near(t, "the junction is opened first and inserted last", map[string]float64{"valid": 1, "agreement": 1, "edges": 1, "length": 1, "order": first, "order_inserted": -first},
		judge(line(prompt, "Aaabbd", []int32{6, 4, 4, 1, 1, 4}, []int32{0, 1, 1, 2, 2, 1})))
	near(t, "all at once, filled", map[string]float64{"valid": 1, "agreement": 1, "edges": 1, "length": 1},
		judge(line(prompt, "Aaabbd__", make([]int32, 8), nil)))
	near(t, "too short", map[string]float64{"valid": 0, "agreement": 4.0 / 7, "edges": 1, "length": 0}, judge(line(prompt, "Aaab", make([]int32, 4), nil)))
	near(t, "an edge that is not there", map[string]float64{"valid": 0, "agreement": 6.0 / 7, "edges": 2.0 / 3, "length": 1}, judge(line(prompt, "AaabAd", nil, nil)))
	near(t, "nothing", map[string]float64{"valid": 0, "agreement": 0, "edges": 0, "length": 0}, judge(synthetic.Line{Text: prompt}))
	near(t, "text alone", map[string]float64{"valid": 1, "agreement": 1, "edges": 1, "length": 1}, judge(synthetic.Line{Text: prompt + "Aaabbd"}))
	// All valid rows together: ranks 5 3 3 .5 .5 3 and 2.5 six times, over 6, against distances over 6.
	x, y := []float64{5, 3, 3, .5, .5, 3, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5}, []float64{2, 1, 1, 0, 0, 1, 2, 1, 1, 0, 0, 1}
	near(t, "in all", map[string]float64{"valid": 0.5, "agreement": (3 + 10.0/7) / 6, "edges": (4 + 2.0/3) / 6, "length": 4.0 / 6, "order": pearson(x, y), "order_inserted": -first}, j.Summary())
	for _, text := range []string{"", "no path", "abAd>ab", "abc>"} {
		if _, err := j.Row(synthetic.Line{Text: text}); err == nil || !strings.Contains(err.Error(), "expected edges of two characters") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func pearson(x, y []float64) float64 {
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	mx, my, xy, xx, yy := mean(x), mean(y), 0.0, 0.0, 0.0
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// The judge finds path and distances of every graph in its prompt. Order is +1 for a text written as far as its distances say.
func TestStarJudgeFindsPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := synthetic.StarSizes[rapid.SampledFrom([]string{"tiny", "small", "long", "easy", "medium", "hard"}).Draw(t, "size")]
		row := s.Draw(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		var steps []int32
		for _, d := range row.Distance {
			steps = append(steps, int32(7*d))
		}
		m, err := (&synthetic.StarJudge{}).Row(line(row.Prompt, row.Text, steps, nil))
		if err != nil || m["valid"] != 1 || m["agreement"] != 1 || m["order"] < 0.7 {
			t.Errorf("%+v: %v, %v", row, m, err)
		}
	})
}

func TestBracketJudge(t *testing.T) {
	j := &synthetic.BracketJudge{Law: []synthetic.Share{{Length: 2, Share: 0.5}, {Length: 4, Share: 0.5}}}
	for text, want := range map[string]map[string]float64{
		"()__": {"valid": 1, "length": 2}, "()": {"valid": 1, "length": 2}, "(()": {"valid": 0, "length": 3}, "": {"valid": 0, "length": 0},
	} {
		m, err := j.Row(synthetic.Line{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		near(t, text, want, m)
	}
	near(t, "in all", map[string]float64{"valid": 0.5, "length_tv": 0.5}, j.Summary())
}

func TestSeparatorJudge(t *testing.T) {
	j := &synthetic.SeparatorJudge{}
	for _, c := range []struct {
		text        string
		steps, born []int32
		want        map[string]float64
	}{
		{"a|b", []int32{3, 1, 1}, []int32{1, 0, 1}, map[string]float64{"valid": 1, "separator_opened": 0.25, "separator_inserted": 0}},
		{"ab|ba", []int32{1, 2, 9, 4, 3}, nil, map[string]float64{"valid": 1, "separator_opened": 1}},
		{"a|bba", []int32{1, 2, 9, 4, 3}, nil, map[string]float64{"valid": 0}},
	} {
		m, err := j.Row(line("", c.text, c.steps, c.born))
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.text, c.want, m)
	}
	// Of length 3 a third of the rows, of length 5 two thirds; the two words have the law's 1/12 and 1/48.
	near(t, "in all", map[string]float64{"valid": 2.0 / 3, "separator_opened": 0.625, "separator_inserted": 0, "length_tv": 1.0 / 3, "tv": 1 - 1.0/12 - 1.0/48}, j.Summary())
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		in, want string
		summary  bool
	}{
		{"{\"text\":\"()\"}\n{\"text\":\")(\",\"nfe\":3}\n", "{\"length\":2,\"valid\":1}\n{\"length\":2,\"valid\":0}\n", false},
		{"{\"text\":\"()\"}\n{\"text\":\"()()\"}", "{\"length_tv\":0.5,\"rows\":2,\"valid\":1}\n", true},
		{"", "{\"rows\":0,\"valid\":0}\n", true},
	} {
		var out bytes.Buffer
		if err := synthetic.Run(&synthetic.BracketJudge{Law: []synthetic.Share{{Length: 2, Share: 1}}}, strings.NewReader(c.in), &out, c.summary); err != nil || out.String() != c.want {
			t.Errorf("%q: %q, %v, want %q", c.in, out.String(), err, c.want)
		}
	}
	if err := synthetic.Run(&synthetic.StarJudge{}, strings.NewReader("{\"text\":\"abab>ab\"}\nx\n"), &bytes.Buffer{}, false); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Error(err)
	}
}
