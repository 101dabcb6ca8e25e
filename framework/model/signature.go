package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// maxWidth bounds vocabulary and row lengths, far above real models, so that an absurd file cannot exhaust memory.
const maxWidth = 1 << 24

// Signature is what the ONNX file takes and gives, checked.
type Signature struct {
	AttentionMask bool // int64 [B, L], 1 = real token
	Timesteps     bool // float32 [B]
	PositionIDs   bool // int64 [B, L]
	AttentionBias bool // float32 [B, 1, L, L]
	TokenTypeIDs  bool // int64 [B, L], zeros
	Masked        bool // int64 [B, L], planner networks: 1 = a proposal for a masked position
	Statistics    bool // temperature float32 [B] and uniform float32 [B, L]: exports with a head of their own, which the host does without

	Rows   int        // B that the export fixed, or 0
	Length int        // L that the export fixed, or 0
	Logits graph.Type // float32, float16, bfloat16 or float64; Undefined for planner networks with the head binary
	V      int        // width of the logits, or 0 where the file does not say

	InsertionRate bool // float [B, L+1]
	UnmaskRate    bool // float [B, L]
	Keep          bool // float32 [B, L], planner networks: the log-odds that a token is right
}

// input is what the framework can feed.
type input struct {
	types  []graph.Type
	rank   int
	mark   func(*Signature) *bool
	shapes string
}

var inputs = map[string]input{
	"input_ids":      {[]graph.Type{graph.Int64}, 2, nil, "int64 [B, L]"},
	"attention_mask": {[]graph.Type{graph.Int64}, 2, func(s *Signature) *bool { return &s.AttentionMask }, "int64 [B, L]"},
	"timesteps":      {[]graph.Type{graph.Float32}, 1, func(s *Signature) *bool { return &s.Timesteps }, "float32 [B]"},
	"position_ids":   {[]graph.Type{graph.Int64}, 2, func(s *Signature) *bool { return &s.PositionIDs }, "int64 [B, L]"},
	"attention_bias": {[]graph.Type{graph.Float32}, 4, func(s *Signature) *bool { return &s.AttentionBias }, "float32 [B, 1, L, L]"},
	"token_type_ids": {[]graph.Type{graph.Int64}, 2, func(s *Signature) *bool { return &s.TokenTypeIDs }, "int64 [B, L]"},
	"masked":         {[]graph.Type{graph.Int64}, 2, func(s *Signature) *bool { return &s.Masked }, "int64 [B, L]"},
	"temperature":    {[]graph.Type{graph.Float32}, 1, func(s *Signature) *bool { return &s.Statistics }, "float32 [B]"},
	"uniform":        {[]graph.Type{graph.Float32}, 2, func(s *Signature) *bool { return &s.Statistics }, "float32 [B, L]"},
}

// inputNames in the order of DESIGN's interface, for messages.
const inputNames = "input_ids, attention_mask, timesteps, position_ids, attention_bias and token_type_ids"

// Inspect checks that a decoded ONNX file is a denoiser, or with p the planner network that p describes.
func Inspect(g *graph.Graph, p *Planner) (*Signature, error) {
	s := &Signature{}
	feeds := g.Feeds()
	if !slices.ContainsFunc(feeds, func(v *graph.ValueInfo) bool { return v.Name == "input_ids" }) {
		return nil, fmt.Errorf("has no input \"input_ids\" (it takes %s); export the model with that name", names(feeds))
	}
	for _, v := range feeds {
		in, ok := inputs[v.Name]
		if v.Name == "masked" && (p == nil || !p.MaskPattern) {
			return nil, fmt.Errorf("takes an input \"masked\", which only planner networks have; write {\"family\": \"planner\", \"planner\": {\"head\": ..., \"mask_pattern\": true}} into mdm.json")
		}
		switch {
		case !ok:
			return nil, fmt.Errorf("takes an input %q that the host cannot feed, expected some of %s; export the model without it", v.Name, inputNames)
		case !slices.Contains(in.types, v.Type), v.HasRank && len(v.Shape) != in.rank:
			return nil, fmt.Errorf("input %q is %s, expected %s; export it so", v.Name, show(v), in.shapes)
		}
		if in.mark != nil {
			*in.mark(s) = true
		}
		if err := s.fixed(v, in.rank); err != nil {
			return nil, err
		}
	}
	for _, v := range g.Outputs {
		switch v.Name {
		case "logits":
			if err := s.logits(v); err != nil {
				return nil, err
			}
		case "insertion_rate", "unmask_rate":
			if err := s.rate(v); err != nil {
				return nil, err
			}
		case "keep":
			if p == nil || p.Head != HeadBinary {
				continue
			}
			if s.Keep = v.Type == graph.Float32 && (!v.HasRank || len(v.Shape) == 2); !s.Keep {
				return nil, fmt.Errorf("output \"keep\" is %s, expected float32 [B, L]; export it so", show(v))
			}
		}
	}
	switch {
	case p != nil && p.MaskPattern && !s.Masked:
		return nil, fmt.Errorf("takes no input \"masked\", but planner.mask_pattern in mdm.json is true; export the network with it, or set it to false")
	case p != nil && p.Head == HeadBinary:
		if !s.Keep {
			return nil, fmt.Errorf("has no output \"keep\" (it gives %s), but planner.head in mdm.json is \"binary\"; export the network with it, or set the head to \"vocabulary\"", names(g.Outputs))
		}
		s.Logits, s.V = graph.Undefined, 0
	case s.Logits == graph.Undefined:
		return nil, fmt.Errorf("has no output \"logits\" (it gives %s); export the model with its language model head", names(g.Outputs))
	}
	return s, nil
}

// fixed notes sizes that the export fixed. Inputs that disagree are the file's fault.
func (s *Signature) fixed(v *graph.ValueInfo, rank int) error {
	for i, d := range v.Shape {
		to := &s.Length
		if i == 0 {
			to = &s.Rows
		}
		if rank == 4 && i == 1 || d.Size < 0 {
			continue
		}
		if d.Size < 1 || d.Size > maxWidth {
			return fmt.Errorf("input %q is %s: a size of %d is absurd; the file is damaged", v.Name, show(v), d.Size)
		}
		if *to != 0 && *to != int(d.Size) {
			return fmt.Errorf("input %q is %s, but another input fixes that size to %d; export the model again", v.Name, show(v), *to)
		}
		*to = int(d.Size)
	}
	return nil
}

// logits notes type and width of the logits.
func (s *Signature) logits(v *graph.ValueInfo) error {
	if !isFloat(v.Type) {
		return fmt.Errorf("output \"logits\" is %s, expected floats [B, L, V]; export the scores, not the chosen tokens", show(v))
	}
	if v.HasRank && len(v.Shape) != 3 {
		return fmt.Errorf("output \"logits\" is %s, expected [B, L, V]; export the language model head", show(v))
	}
	s.Logits = v.Type
	if v.HasRank && v.Shape[2].Size >= 0 {
		if v.Shape[2].Size < 1 || v.Shape[2].Size > maxWidth {
			return fmt.Errorf("output \"logits\" is %s: a width of %d is absurd; the file is damaged", show(v), v.Shape[2].Size)
		}
		s.V = int(v.Shape[2].Size)
	}
	return nil
}

// rate notes what an insertion model says of gaps or of masks.
func (s *Signature) rate(v *graph.ValueInfo) error {
	mark, shape := &s.InsertionRate, "[B, L+1]"
	if v.Name == "unmask_rate" {
		mark, shape = &s.UnmaskRate, "[B, L]"
	}
	if *mark = isFloat(v.Type) && (!v.HasRank || len(v.Shape) == 2); !*mark {
		return fmt.Errorf("output %q is %s, expected floats %s; export it so", v.Name, show(v), shape)
	}
	return nil
}

func isFloat(t graph.Type) bool {
	return t == graph.Float32 || t == graph.Float16 || t == graph.BFloat16 || t == graph.Float64
}

func names(vs []*graph.ValueInfo) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%q", v.Name))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// show writes a type such as "float32 [batch, 4, ?]".
func show(v *graph.ValueInfo) string {
	if !v.HasRank {
		return v.Type.String()
	}
	dims := make([]string, len(v.Shape))
	for i, d := range v.Shape {
		switch {
		case d.Size >= 0:
			dims[i] = fmt.Sprint(d.Size)
		case d.Name != "":
			dims[i] = d.Name
		default:
			dims[i] = "?"
		}
	}
	return fmt.Sprintf("%s [%s]", v.Type, strings.Join(dims, ", "))
}
