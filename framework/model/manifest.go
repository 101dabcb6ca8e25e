package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/agext/levenshtein"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/mdmhost/mdmhost/framework/model/internal/jsonfile"
)

// Manifest is mdm.json, what Hugging Face's config.json has no word for.
type Manifest struct {
	Family   string             `json:"family"`            // "masked", "insertion" or "planner"
	Planner  *Planner           `json:"planner,omitempty"` // of family "planner", else nil
	Time     Time               `json:"time"`
	Schedule Schedule           `json:"schedule"`
	Length   Length             `json:"length"`
	Gap      string             `json:"gap"` // "n+1" or "eos": which gaps an insertion model rates
	Infill   Infill             `json:"infill"`
	Networks map[string]Network `json:"networks,omitempty"`
	Trainer  *Trainer           `json:"trainer,omitempty"`

	// LogitsShift is 1 where the logits of position i are for the token at i+1, else 0.
	LogitsShift int `json:"logits_shift,omitempty"`

	Digests map[string]string `json:"digests,omitempty"` // file -> sha256
	Origin  *Origin           `json:"origin,omitempty"`  // of a model that was imported, else nil
}

// Origin says what an imported model was made of.
type Origin struct {
	Importer  string            `json:"importer"`        // the program and its version
	ModelType string            `json:"model_type"`      // of the config.json that was read
	Files     map[string]string `json:"files,omitempty"` // what was read -> sha256
}

// The conventions of Gap.
const gapEOS = "eos" // a fixed token ends every row, and the gap behind it never grows

// Time says what the network knows of the time t in [0, 1].
type Time struct {
	Input   string `json:"input"`    // "none" or "t"
	NoiseAt *int   `json:"noise_at"` // 0 or 1: where everything is masked; never nil in an opened model
}

// Schedule is the noise schedule of training; which of the numbers count depends on Kind (sheets md4 3.2, loflexmdm 3).
type Schedule struct {
	Kind string  `json:"kind"`
	C    float64 `json:"c,omitempty"`
	BMin float64 `json:"b_min,omitempty"`
	BMax float64 `json:"b_max,omitempty"`
	A    float64 `json:"a,omitempty"`
	B    float64 `json:"b,omitempty"`
	Eps  float64 `json:"eps,omitempty"`
}

// Length says which lengths rows may have, special tokens included.
type Length struct {
	Policy string `json:"policy"`        // "free" up to Cap, or "fixed" at Cap
	Cap    int    `json:"cap,omitempty"` // 0: as config.json says
}

// Infill adds symbols that stand for blanks in infill text.
type Infill struct {
	Blank    string            `json:"blank,omitempty"`
	InputMap map[string]string `json:"input_map,omitempty"`
}

// The heads of planner networks.
const (
	HeadVocabulary = "vocabulary" // logits [B, L, V]: a token's score is its log-probability
	HeadBinary     = "binary"     // keep [B, L]: the log-odds that a token is right
)

// Planner says what a planner network takes and gives: a network that reads rows without masks and scores their tokens
// (P2, Peng et al. 2025, section 3.8 of the sheet p2.md).
type Planner struct {
	Head        string `json:"head"`                   // HeadVocabulary or HeadBinary
	MaskPattern bool   `json:"mask_pattern,omitempty"` // HeadBinary: it takes masked int64 [B, L], 1 = a proposal for a masked position
}

// Network is a network besides the denoiser, in files below the model directory.
type Network struct {
	ONNX       string `json:"onnx,omitempty"`
	Parameters string `json:"parameters,omitempty"`
	Prefix     string `json:"prefix,omitempty"`

	// Config has the keys of config.json, for a network of the framework's own; without it the network is the denoiser but for its head.
	Config json.RawMessage `json:"config,omitempty"`
}

// Trainer says how the model was trained.
type Trainer struct {
	Name    string         `json:"name"`
	Version string         `json:"version,omitempty"`
	Digest  string         `json:"digest,omitempty"` // of its code: sha256 of the program, or of the plugin's SHA256SUMS
	Steps   int64          `json:"steps,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// Schema is the JSON schema of mdm.json.
//
//go:embed mdm.schema.json
var Schema []byte

// compiled is the schema, compiled when the first mdm.json is read.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mdm.schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mdm.schema.json")
})

// ParseManifest reads an mdm.json and fills in the defaults; no data stands for a model without the file. name is what
// errors call the file. All departures from the schema are listed at once.
func ParseManifest(name string, data []byte) (*Manifest, error) {
	m := &Manifest{Family: "masked", Gap: "n+1"}
	if data != nil {
		var doc any
		if err := jsonfile.Decode(name, data, &doc); err != nil {
			return nil, err
		}
		schema, err := compiled()
		if err != nil {
			return nil, fmt.Errorf("mdm.schema.json: %w", err)
		}
		var invalid *jsonschema.ValidationError
		if err := schema.Validate(doc); errors.As(err, &invalid) {
			problems := findings(schema, invalid)
			sort.Strings(problems)
			return nil, fmt.Errorf("%s: %s", name, strings.Join(slices.Compact(problems), "\n"+name+": "))
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := jsonfile.Decode(name, data, m); err != nil {
			return nil, err
		}
	}
	m.fill()
	if m.Length.Policy == "fixed" && m.Length.Cap == 0 {
		return nil, fmt.Errorf("%s: length: policy fixed needs a cap; add \"cap\": POSITIONS", name)
	}
	if m.Planner != nil && m.Family != "planner" {
		return nil, fmt.Errorf("%s: planner: describes a planner network, but family is %q; set it to \"planner\", or remove the entry", name, m.Family)
	}
	if p := m.Planner; p != nil && p.MaskPattern && p.Head != HeadBinary {
		return nil, fmt.Errorf("%s: planner: mask_pattern is true with the head %q, expected the head \"binary\"; set it to false, or export the network with that head", name, p.Head)
	}
	return m, nil
}

// fill sets the defaults of what the file leaves out.
func (m *Manifest) fill() {
	noise := 1
	if m.Family == "insertion" {
		noise = 0
	}
	if m.Time.NoiseAt == nil {
		m.Time.NoiseAt = &noise
	}
	if m.Schedule.Kind == "" {
		m.Schedule.Kind = "linear"
	}
	if m.Length.Policy == "" {
		m.Length.Policy = "free"
	}
}

// findings turns the tree of a failed validation into lines, one a cause.
func findings(root *jsonschema.Schema, e *jsonschema.ValidationError) []string {
	var out []string
	place := strings.Join(e.InstanceLocation, ".")
	if place != "" {
		place += ": "
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := properties(root, e.InstanceLocation)
		for _, p := range k.Properties {
			out = append(out, fmt.Sprintf("%sunknown key %q; %s", place, p, nearest(p, known)))
		}
	default:
		if len(e.Causes) == 0 {
			out = append(out, place+e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
		}
	}
	for _, c := range e.Causes {
		out = append(out, findings(root, c)...)
	}
	return out
}

// properties lists the keys that the schema knows at a place.
func properties(s *jsonschema.Schema, place []string) []string {
	for _, p := range place {
		next, ok := s.Properties[p]
		if !ok {
			next, ok = s.AdditionalProperties.(*jsonschema.Schema)
		}
		if !ok {
			return nil
		}
		s = next
	}
	var known []string
	for p := range s.Properties {
		known = append(known, p)
	}
	sort.Strings(known)
	return known
}

// nearest says what somebody may have meant by an unknown word.
func nearest(word string, known []string) string {
	best, distance := "", 1+max(2, len(word)/3)
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(k), nil); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q? There are %s", best, strings.Join(known, ", "))
	}
	return "there are " + strings.Join(known, ", ")
}
