package network_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// TestOrderDir writes insertion models with the order networks that they were trained with, and reads those back.
func TestOrderDir(t *testing.T) {
	denoiser := growing(t, network.Config{Time: network.AdaLN, UnmaskRate: true, Tied: true})
	small := network.OrderOf(denoiser, false)
	small.HiddenSize, small.Intermediate = 16, 0
	for name, o := range map[string]*network.Order{
		"its own": {Config: valid(t, small)},
		"shared":  {Config: network.OrderOf(denoiser, true), Shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			all := formula(o.Config)
			o.Values = network.Values{}
			for _, p := range network.Params(o.Config) {
				if !o.Shared || strings.HasPrefix(p.Name, "order.") {
					o.Values[p.Name] = all[p.Name]
				}
			}
			d := network.ModelDir{Config: denoiser, Values: formula(denoiser), Tokenizer: letters(t), Manifest: &model.Manifest{Length: model.Length{Cap: 20}}}
			if err := d.Put(o); err != nil {
				t.Fatal(err)
			}
			d.Extra = append(d.Extra, safetensors.Of("schedule.exponents", []int64{1}, []float32{2}))
			dir := filepath.Join(t.TempDir(), "grows")
			if err := network.WriteModelDir(dir, d); err != nil {
				t.Fatal(err)
			}
			m, err := model.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			c, values, err := network.From(m)
			if err != nil || cmp.Diff(d.Values, values) != "" || m.Manifest.Length.Cap != 20 {
				t.Error("the denoiser is another", err)
			}
			got, err := network.ReadOrder(m, c)
			if diff := cmp.Diff(o, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			m.Manifest.Networks["order"] = model.Network{Parameters: "other.safetensors"}
			if _, err := network.ReadOrder(m, c); err == nil || !strings.Contains(err.Error(), `networks.order: has parameters "other.safetensors" with the prefix ""; expected "model.safetensors" and "order."`) {
				t.Error(err)
			}
			delete(m.Manifest.Networks, "order")
			if got, err := network.ReadOrder(m, c); got != nil || err != nil {
				t.Error(got, err)
			}
		})
	}
}
