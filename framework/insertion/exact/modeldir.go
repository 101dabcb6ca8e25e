package exact

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Save writes the model as a directory that `mdmhost sample --model` takes: rows of at most longest positions, gaps n+1, the clock's a,
// the tokens a, b, c and so on.
func (l *Law) Save(dir string, longest int, a float64) error {
	m, err := l.Graph(longest, a)
	if err != nil {
		return err
	}
	if l.V > 26 {
		return fmt.Errorf("exact law: %d tokens, expected at most 26, one a letter", l.V)
	}
	characters := tokenizer.NewCharacters()
	for v := range l.V {
		if err := characters.Add(string(rune('a' + v))); err != nil {
			return err
		}
	}
	symbols, err := characters.File(false, false)
	if err != nil {
		return err
	}
	type object = map[string]any
	about, err := json.Marshal(object{"model_type": "exact", "vocab_size": l.V + 2, "pad_token_id": l.Pad(), "mask_token_id": l.Mask(), "max_position_embeddings": longest})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(object{"family": "insertion", "time": object{"input": "t", "noise_at": 0}, "schedule": object{"kind": "kumaraswamy", "a": a},
		"gap": sampling.GapTail, "length": object{"policy": "free", "cap": longest}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "onnx"), 0o750); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"config.json": about, "mdm.json": manifest, "tokenizer.json": symbols} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return graph.Save(filepath.Join(dir, "onnx", "model.onnx"), m)
}
