package model

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/model/internal/jsonfile"
)

// Config is what the framework reads of a Hugging Face config.json. Keys that it does not know are kept in Raw.
type Config struct {
	ModelType     string
	Architectures []string
	VocabSize     int // 0: not said
	MaxPositions  int // rows longer than that have no position embedding; 0: not said
	Mask, Pad     int32
	BOS, EOS      int32 // -1, as Mask and Pad: not said
	Raw           map[string]any
}

// configFile is the file. Ids may be null, and the end token a list of which the first counts.
type configFile struct {
	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`
	VocabSize     *int64   `json:"vocab_size"`
	MaxPosition   *int64   `json:"max_position_embeddings"`
	NPositions    *int64   `json:"n_positions"`
	MaxLength     *int64   `json:"max_sequence_length"`
	Mask          tokenID  `json:"mask_token_id"`
	Pad           tokenID  `json:"pad_token_id"`
	BOS           tokenID  `json:"bos_token_id"`
	EOS           tokenID  `json:"eos_token_id"`
}

// tokenID is an id, null, or a list of ids.
type tokenID []int64

// UnmarshalJSON implements [json.Unmarshaler].
func (t *tokenID) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]int64)(t))
	}
	var one *int64
	if err := json.Unmarshal(b, &one); err != nil {
		return fmt.Errorf("a token id is %s, expected an integer", b)
	}
	if one != nil {
		*t = tokenID{*one}
	}
	return nil
}

// offsetPositions are the model types whose positions begin after the padding id (as fairseq numbered them): two of the
// embeddings are never reached.
var offsetPositions = map[string]bool{"roberta": true, "xlm-roberta": true, "camembert": true, "roberta-prelayernorm": true,
	"xlm-roberta-xl": true, "xmod": true, "mpnet": true, "esm": true, "longformer": true, "data2vec-text": true}

// ParseConfig reads a config.json. name is what errors call the file.
func ParseConfig(name string, data []byte) (*Config, error) {
	var f configFile
	if err := jsonfile.Decode(name, data, &f); err != nil {
		return nil, err
	}
	c := &Config{ModelType: f.ModelType, Architectures: f.Architectures}
	if err := jsonfile.Decode(name, data, &c.Raw); err != nil {
		return nil, err
	}
	if c.Raw == nil {
		return nil, fmt.Errorf("%s: is null, expected a JSON object", name)
	}
	for _, n := range []struct {
		key string
		in  *int64
		out *int
	}{{"max_sequence_length", f.MaxLength, &c.MaxPositions}, {"n_positions", f.NPositions, &c.MaxPositions},
		{"max_position_embeddings", f.MaxPosition, &c.MaxPositions}, {"vocab_size", f.VocabSize, &c.VocabSize}} {
		switch {
		case n.in == nil:
		case *n.in < 1 || *n.in > maxWidth:
			return nil, fmt.Errorf("%s: %s is %d, expected 1 to %d", name, n.key, *n.in, int64(maxWidth))
		default:
			*n.out = int(*n.in)
		}
	}
	for _, id := range []struct {
		key string
		in  tokenID
		out *int32
	}{{"mask_token_id", f.Mask, &c.Mask}, {"pad_token_id", f.Pad, &c.Pad}, {"bos_token_id", f.BOS, &c.BOS}, {"eos_token_id", f.EOS, &c.EOS}} {
		*id.out = -1
		if len(id.in) == 0 {
			continue
		}
		if id.in[0] < math.MinInt32 || id.in[0] > math.MaxInt32 {
			return nil, fmt.Errorf("%s: %s is %d, expected an id of the vocabulary", name, id.key, id.in[0])
		}
		if *id.out = int32(id.in[0]); *id.out < 0 && id.key == "mask_token_id" {
			return nil, fmt.Errorf("%s: mask_token_id is %d, expected an id of the vocabulary", name, id.in[0])
		}
	}
	if offsetPositions[c.ModelType] && c.MaxPositions > 2 {
		pad := c.Pad
		if pad < 0 {
			pad = 1
		}
		c.MaxPositions -= int(pad) + 1
		if c.MaxPositions < 1 {
			return nil, fmt.Errorf("%s: pad_token_id %d leaves no position of max_position_embeddings", name, c.Pad)
		}
	}
	return c, nil
}
