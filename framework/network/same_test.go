package network_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Networks that were written before are written byte for byte as then: their digests stay valid, whatever configs can say since.
func TestEmbeddedNetworksStay(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("sines and cosines of rotary tables differ in their last bits from one processor architecture to another")
	}
	for _, name := range []string{"sudoku", "text", "maze", "stars", "molecule-insertion"} {
		m, err := model.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		c, values, err := network.Exported(m)
		if err != nil {
			t.Fatal(err)
		}
		o := network.ExportOptions{Opset: m.Graph.Opset("")}
		for _, tensor := range m.Graph.Graph.Initializers {
			if tensor.Type == graph.Float16 {
				o.Precision = network.Float16
			}
		}
		again, err := network.Export(c, values, o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Encode(), m.ONNX) {
			t.Errorf("%s: the ONNX file is another", name)
		}
		was, err := os.ReadFile(filepath.Join("../model/embedded", name, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Grid != nil {
			c.PositionTables = nil // as config.json has it
		}
		now, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var old, written map[string]any
		if err := json.Unmarshal(was, &old); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(now, &written); err != nil {
			t.Fatal(err)
		}
		for key, value := range written {
			if d := cmp.Diff(old[key], value); d != "" {
				t.Errorf("%s: %s %s", name, key, d)
			}
		}
	}
}
