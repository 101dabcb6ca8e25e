package exporters

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Source is the model that is taken elsewhere. It does not change, but for what it remembers.
type Source struct {
	*model.Model
	Digest  string       // of [model.Model.Digest]
	Digests []model.File // of [model.Model.Files]

	// Config and Values are the network and its parameters, as the ONNX file has them, nil where the model is an ONNX file of no family with
	// a rule. Logits of such models can be had from the file alone: target onnx.
	Config *network.Config
	Values network.Values

	Why error // why they are nil: what is missing, ending with the alternative

	Library string // ONNX Runtime that answers for the model; "": the one that is found

	mu        sync.Mutex
	reference *Reference
}

// Open opens an embedded model by its name, or a model directory by its path, as [model.Open] does, and finds the network in it: the
// framework's own by config.json, others by the rules of their families. Parameters that are no numbers are refused.
func Open(ctx context.Context, ref string, opts ...model.Option) (*Source, error) {
	m, err := model.Open(ref, opts...)
	if err != nil {
		return nil, err
	}
	s := &Source{Model: m}
	if s.Digests, err = m.Files(); err != nil {
		return nil, err
	}
	s.Digest = model.DigestOf(s.Digests)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, values, err := parameters(m)
	if err != nil {
		s.Why = err
		return s, nil
	}
	if err := finite(values); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	s.Config, s.Values = &c, values
	return s, nil
}

// finite refuses parameters that no stack can compute with.
func finite(values network.Values) error {
	for name, v := range values {
		if i := slices.IndexFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }); i >= 0 {
			return fmt.Errorf("parameter %q: element %d is %g, expected a finite number; export an earlier checkpoint", name, i, v[i])
		}
	}
	return nil
}

// Reference is what the source answers. It is computed at the first call.
func (s *Source) Reference(ctx context.Context) (*Reference, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reference == nil {
		r, err := answer(ctx, s.Model, s.Library)
		if err != nil {
			return nil, err
		}
		s.reference = r
	}
	return s.reference, nil
}

// About are the files that every export with a network of ours holds beside its weights, as the source has them: tokenizer.json and, where
// there is one, generation_config.json. Targets add config.json and mdm.json ([Source.Manifest]).
func (s *Source) About() (wholefile.Files, error) {
	files := wholefile.Files{}
	for _, name := range []string{"tokenizer.json", "generation_config.json"} {
		if name == "generation_config.json" && s.GenerationConfig == nil {
			continue
		}
		b, err := s.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", s.Name, err)
		}
		files[name] = wholefile.Bytes(b)
	}
	return files, nil
}

// ManifestJSON is mdm.json with other digests: sha256 in hexadecimal by file. The source's own are of files that an export does not hold.
func (s *Source) ManifestJSON(digests map[string]string) ([]byte, error) {
	manifest := *s.Model.Manifest
	manifest.Digests = digests
	b, err := json.MarshalIndent(manifest, "", "  ")
	return append(b, '\n'), err
}
