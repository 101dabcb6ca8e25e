package foreign_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// TestHalf: a file whose matrices are stored as float16 behind Casts has the parameters of the float32 file, to float16's
// precision, and what is exported is float32 again.
func TestHalf(t *testing.T) {
	whole, _, err := foreign.Read(small(), foreign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	half, err := model.Half(small())
	if err != nil {
		t.Fatal(err)
	}
	before := half.Encode()
	n, _, err := foreign.Read(half, foreign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, half.Encode()) {
		t.Error("the model was changed")
	}
	if diff := cmp.Diff(whole.Parameters(), n.Parameters()); diff != "" {
		t.Fatal(diff)
	}
	for i, want := range whole.Values() {
		for j, x := range n.Values()[i] {
			if math.Abs(float64(x-want[j])) > math.Abs(float64(want[j]))/2048 {
				t.Fatalf("parameter %d, element %d: %v, expected %v to 11 bits", i, j, x, want[j])
			}
		}
	}
	out, err := n.Export(n.Values())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out.Graph.Initializers {
		if x.Type != graph.Float32 || strings.Contains(x.Name, "float16") {
			t.Errorf("the export holds %s %s", x.Name, x.Type)
		}
	}
}
