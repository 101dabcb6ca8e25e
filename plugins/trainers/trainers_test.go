package trainers_test

import (
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
)

// TestEveryTrainerForEveryOpset builds with the default options for every opset, with and without time, for sizes that are fixed
// and that are not. Build checks the graphs as the host does.
func TestEveryTrainerForEveryOpset(t *testing.T) {
	for name, make := range trainers.All() {
		if d, err := make().Describe(t.Context()); err != nil || d.Name != name || d.Summary == "" {
			t.Errorf("trainer %s describes itself as %+v, %v", name, d, err)
		}
		for opset := int64(graph.MinOpset); opset <= graph.MaxOpset; opset++ {
			for _, takesTime := range []bool{false, true} {
				for _, size := range []int{0, 16} {
					task := spec.Task{V: 30, MaskID: 29, PadID: 0, Suppressed: []int64{0, 29}, Rows: size, Length: size, Denoiser: try.Denoiser(30, takesTime), Opset: opset}
					if strings.HasSuffix(name, "flexmdm") {
						task.Denoiser = try.Insertion(30, takesTime, true)
					}
					_, err := make().Build(t.Context(), task)
					if name == "genmd4" && !takesTime {
						if err == nil || !strings.Contains(err.Error(), "network.time=adaln") {
							t.Errorf("%s takes a network without time: %v", name, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("opset %d, time %v, size %d: %v", opset, takesTime, size, err)
					}
				}
			}
		}
	}
}
