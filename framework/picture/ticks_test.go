package picture_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"

	"github.com/mdmhost/mdmhost/framework/picture"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		got  []plot.Tick
		want string
	}{
		{picture.LinearTicks{Whole: true}.Ticks(0, 20000), "0 2,500 5,000 7,500 10,000 12,500 15,000 17,500 20,000"},
		{picture.LinearTicks{Whole: true}.Ticks(0, 3), "0 1 2 3"},
		{picture.LinearTicks{Whole: true}.Ticks(0, 1.2e6), "0 200,000 400,000 600,000 800,000 1,000,000 1,200,000"},
		{picture.LinearTicks{}.Ticks(1.13, 2.04), "1.2 1.4 1.6 1.8 2"},
		{picture.LinearTicks{}.Ticks(-0.1, 0.3), "-0.1 -0.05 0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{picture.LogTicks{}.Ticks(0.7, 30), "1 2 5 10 20"},
		{picture.LogTicks{}.Ticks(1.2, 5), "1.5 2 3 4 5"},
		{picture.LogTicks{}.Ticks(2.1, 2.4), "2.1 2.15 2.2 2.25 2.3 2.35 2.4"},
	} {
		if diff := cmp.Diff(c.want, labels(c.got)); diff != "" {
			t.Error(diff)
		}
	}
}

func labels(ticks []plot.Tick) string {
	var out []string
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return strings.Join(out, " ")
}
