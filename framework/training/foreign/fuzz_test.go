package foreign_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
)

// Any file is read or refused, and what is read can be exported.
func FuzzRead(f *testing.F) {
	f.Add(small().Encode())
	f.Add(small(merged).Encode())
	f.Add(small(between(&graph.Node{Op: "Add", Inputs: []string{"w"}}, named(normal(4), "w"))).Encode())
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := graph.Decode(file)
		if err != nil {
			return
		}
		n, _, err := foreign.Read(m, foreign.Options{Name: "fuzz"})
		if err != nil {
			return
		}
		if _, err := n.Export(n.Values()); err != nil {
			t.Error(err)
		}
	})
}
