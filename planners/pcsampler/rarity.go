package pcsampler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// rarity is -ln f of every token, nats.
type rarity struct {
	listed map[int32]float64
	rest   float64 // of the tokens that are not listed
}

func (r *rarity) of(token int32) float64 {
	if x, ok := r.listed[token]; ok {
		return x
	}
	return r.rest
}

// uniform gives each of v tokens the frequency 1/v.
func uniform(v int) *rarity { return &rarity{rest: math.Log(float64(max(v, 1)))} }

// read reads a file of frequencies, see [parse].
func read(path string) (*rarity, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("frequencies %s: %w; give a file that can be read, or none for equal frequencies", path, err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("frequencies %s: %w; PC-Sampler's calculate_p_baseline.py writes such files", path, err)
	}
	return r, nil
}

// parse reads {"num_token": N, "p_baseline_dict": {"ID": COUNT, ...}}: the token ID has the frequency COUNT/N, tokens that
// are not listed have 1/N.
func parse(text []byte) (*rarity, error) {
	var file struct {
		Tokens float64            `json:"num_token"`
		Counts map[string]float64 `json:"p_baseline_dict"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("expected a JSON object with num_token and p_baseline_dict: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("expected one JSON object and nothing after it")
	}
	if !(file.Tokens >= 1) || file.Counts == nil {
		return nil, fmt.Errorf("expected num_token, at least 1, and p_baseline_dict, found num_token %v and %d tokens", file.Tokens, len(file.Counts))
	}
	r := &rarity{listed: map[int32]float64{}, rest: math.Log(file.Tokens)}
	for name, n := range file.Counts {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("p_baseline_dict: expected token ids as keys, found %q", name)
		}
		if !(n > 0 && n <= file.Tokens) {
			return nil, fmt.Errorf("p_baseline_dict: expected a count above 0 and at most num_token %v for token %d, found %v", file.Tokens, id, n)
		}
		r.listed[int32(id)] = math.Log(file.Tokens / n)
	}
	return r, nil
}
