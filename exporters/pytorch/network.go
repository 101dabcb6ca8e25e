package pytorch

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Network are the files that make the network in Python: model.py, config.json with some keys more, model.safetensors, extra.safetensors where the
// source has tensors beside the network, and tokenizer.json, mdm.json and generation_config.json as the source has them. Check has passed.
func Network(s *exporters.Source, o exporters.Options, keys map[string]any) (wholefile.Files, error) {
	files, err := s.About()
	if err != nil {
		return nil, err
	}
	manifest, err := s.ManifestJSON(nil) // digests stand in export.json
	if err != nil {
		return nil, err
	}
	config, err := configJSON(s, keys)
	if err != nil {
		return nil, err
	}
	files["mdm.json"] = wholefile.Bytes(manifest)
	files["config.json"] = wholefile.Bytes(config)
	files["model.py"] = wholefile.Bytes(Script("model.py"))
	files["model.safetensors"] = func(w io.Writer) error { return weights(w, s, o.Precision) }
	more, err := Extra(s)
	if err != nil {
		return nil, err
	}
	if len(more) > 0 { // in a file of their own, for model.safetensors is loaded strictly
		files[network.ExtraName] = func(w io.Writer) error { return safetensors.Encode(w, more, map[string]string{"format": "pt"}) }
	}
	return files, nil
}

// Extra are the tensors beside the network that mdm.json speaks of, such as the exponents of a learned schedule. They keep their precision.
func Extra(s *exporters.Source) ([]safetensors.Tensor, error) {
	if s.Model.Config.ModelType != network.ModelType {
		return nil, nil
	}
	return network.Extra(s.Model, "")
}

// Architecture is the class of Hugging Face's models that the network is.
func Architecture(c network.Config) string {
	if c.Rates() {
		return "MdmTransformerForInsertion"
	}
	return "MdmTransformerForMaskedLM"
}

// configJSON is config.json: the network, and what Hugging Face's readers look for. Arithmetic is in single precision, whatever the weights are in.
func configJSON(s *exporters.Source, more map[string]any) ([]byte, error) {
	c := *s.Config
	if c.Grid != nil {
		c.PositionTables = nil // model.py makes them
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	keys := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // as they are written
	if err := d.Decode(&keys); err != nil {
		return nil, err
	}
	keys["architectures"] = []string{Architecture(c)}
	keys["dtype"] = network.Float32
	keys["mask_token_id"], keys["pad_token_id"] = s.MaskID, s.PadID
	for key, id := range map[string]int32{"bos_token_id": s.Model.Config.BOS, "eos_token_id": s.Model.Config.EOS} {
		if id >= 0 {
			keys[key] = id
		}
	}
	for key, value := range more {
		keys[key] = value
	}
	text, err = json.MarshalIndent(keys, "", "  ")
	return append(text, '\n'), err
}

// weights are the parameters of the source. In half precision only matrices are, and vectors stay as they were.
func weights(w io.Writer, s *exporters.Source, precision string) error {
	var tensors []safetensors.Tensor
	for _, p := range network.Params(*s.Config) {
		t := safetensors.Of(p.Name, p.Shape, s.Values[p.Name])
		if precision == exporters.FP16Weights && len(p.Shape) > 1 {
			half, err := t.To(safetensors.F16)
			if err != nil {
				return err
			}
			t = half
		}
		tensors = append(tensors, t)
	}
	safetensors.Sort(tensors)
	return safetensors.Encode(w, tensors, map[string]string{"format": "pt"})
}
