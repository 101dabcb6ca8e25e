package network

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Order is the order network that an insertion model was trained with (methods/loflexmdm.md, section 4.6). Sampling does without it; training on
// and evaluating go on with it.
type Order struct {
	Config Config // of head "order"
	Shared bool   // all its parameters but those of the head are the denoiser's
	Values Values // its own
}

// orderEntry is its key among the networks of mdm.json.
const orderEntry = "order"

// OrderOf is the config of an order network like a denoiser. One that shares the denoiser's parameters is told the time where the
// denoiser is; one of its own is not, for with speeds that move with the time the rates do not generate the law that is trained.
func OrderOf(denoiser Config, shared bool) Config {
	c := denoiser
	c.Head, c.Gaps, c.UnmaskRate, c.Tied, c.HeadInit = HeadOrder, NoGaps, false, false, ""
	c.HeadTransform, c.HeadBias, c.LogitsShift = false, false, false
	if !shared {
		c.Time, c.TimeSize = NoTime, 0
	}
	return c.Filled()
}

// params are the order network's own parameters.
func (o *Order) params() []Param {
	all := Params(o.Config)
	if !o.Shared {
		return all
	}
	return all[len(all)-4:] // the head: weights and biases of two layers
}

// Put adds the order network to a model directory.
func (m *ModelDir) Put(o *Order) error {
	fill(&m.DType, safetensors.F32)
	entry := model.Network{Parameters: parametersName, Prefix: OrderPrefix}
	if !o.Shared {
		text, err := json.Marshal(o.Config)
		if err != nil {
			return err
		}
		entry.Config = text
	}
	for _, p := range o.params() {
		if got := int64(len(o.Values[p.Name])); got != p.Len() {
			return fmt.Errorf("order network: parameter %q has %d numbers, expected shape %v", p.Name, got, p.Shape)
		}
		t, err := safetensors.Of(OrderPrefix+p.Name, p.Shape, o.Values[p.Name]).To(m.DType)
		if err != nil {
			return err
		}
		m.Extra = append(m.Extra, t)
	}
	described := model.Manifest{}
	if m.Manifest != nil {
		described = *m.Manifest
	}
	networks := map[string]model.Network{orderEntry: entry}
	for name, n := range described.Networks {
		if name != orderEntry {
			networks[name] = n
		}
	}
	described.Networks = networks
	m.Manifest = &described
	return nil
}

// ReadOrder reads the order network of a model whose denoiser is given; nil where it has none.
func ReadOrder(m *model.Model, denoiser Config) (*Order, error) {
	entry, ok := m.Manifest.Networks[orderEntry]
	if !ok {
		return nil, nil
	}
	name := filepath.Join(m.Name, manifestName) + ": networks." + orderEntry
	if entry.Parameters != parametersName || entry.Prefix != OrderPrefix {
		return nil, fmt.Errorf("%s: has parameters %q with the prefix %q; expected %q and %q", name, entry.Parameters, entry.Prefix, parametersName, OrderPrefix)
	}
	o := &Order{Config: OrderOf(denoiser, true), Shared: true}
	if entry.Config != nil {
		c, err := ParseConfig(name+".config", entry.Config)
		if err != nil {
			return nil, err
		}
		if c.Head != HeadOrder {
			return nil, fmt.Errorf("%s.config: head is %q, expected %s", name, c.Head, HeadOrder)
		}
		o.Config, o.Shared = c, false
	}
	tensors, err := Extra(m, OrderPrefix)
	if err != nil {
		return nil, err
	}
	for i := range tensors {
		tensors[i].Name = strings.TrimPrefix(tensors[i].Name, OrderPrefix)
	}
	if o.Values, err = fromParams(o.params(), tensors); err != nil {
		return nil, fmt.Errorf("%s: %w; take mdm.json and %s of one model", name, err, parametersName)
	}
	return o, nil
}
