package train_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// TestNetworkSettings: what is wrong with a network is told like all that is wrong with a configuration, under the names of settings.
func TestNetworkSettings(t *testing.T) {
	for name, c := range map[string]struct {
		settings, want []string
	}{
		"heads":      {[]string{"network.num_attention_heads=3"}, []string{"--set network.num_attention_heads: 3 heads do not divide hidden_size 16"}},
		"no grid":    {[]string{"network.positions=grid"}, []string{"2 problems", "network.rows: is 0, expected 1 to 4096", "network.columns: is 0"}},
		"no columns": {[]string{"network.positions=grid", "network.rows=2"}, []string{"network.columns: is 0, expected 1 to 4096"}},
		"no use":     {[]string{"network.rows=2", "network.columns=4"}, []string{`network.rows: is given, but positions is "rope"`}},
		"small":      {[]string{"network.positions=grid", "network.rows=2", "network.columns=3"}, []string{"--set data.length: is 8, and the network's grid has 6 cells; expected as many"}},
		"large":      {[]string{"network.positions=grid", "network.rows=3", "network.columns=3"}, []string{"--set data.length: is 8, and the network's grid has 9 cells; expected as many"}},
		"sudoku":     {[]string{"network.positions=sudoku"}, []string{"--set data.length: is 8, and the network's grid has 81 cells"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, context.Background(), small(t, filepath.Join(t.TempDir(), "run"), c.settings...)...)
			wantError(t, err, c.want...)
			var problems config.Problems
			if !errors.As(err, &problems) {
				t.Errorf("a %T", err)
			}
		})
	}
}
