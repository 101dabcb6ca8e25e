package network

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// maxSize bounds every size, far above real networks, so that products of two stay small numbers.
const maxSize = 1 << 24

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Problem is one thing that is wrong with a [Config].
type Problem struct {
	Key  string // of config.json, dotted below the first level, such as grid.rows
	Text string
}

// Problems is everything that is wrong with a [Config]: an error that lists all of it.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.Key+": "+one.Text)
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) report(key, format string, args ...any) {
	*p = append(*p, Problem{key, fmt.Sprintf(format, args...)})
}

// Validate checks a filled config and lists all problems at once, each under its key. The error is of type [Problems].
func (c Config) Validate() error {
	var problems Problems
	report := problems.report
	choice := func(key, value string, known ...string) {
		if !slices.Contains(known, value) {
			report(key, "is %q, expected %s", value, strings.Join(known, ", "))
		}
	}
	choice("model_type", c.ModelType, ModelType)
	for _, n := range []struct {
		key   string
		value int
	}{{"vocab_size", c.VocabSize}, {"hidden_size", c.HiddenSize}, {"num_hidden_layers", c.Layers},
		{"num_attention_heads", c.Heads}, {"intermediate_size", c.Intermediate}} {
		if n.value < 1 || n.value > maxSize {
			report(n.key, "is %d, expected 1 to %d", n.value, maxSize)
		}
	}
	lacks := c.MaxPositions == 0 && c.placed() && !(c.tabled() && c.PositionTables == nil) // that is told by itself
	if c.MaxPositions < 0 || c.MaxPositions > maxSize || lacks {
		report("max_position_embeddings", "is %d, expected 1 to %d", c.MaxPositions, maxSize)
	}
	if c.Heads > 0 && c.HiddenSize > 0 {
		switch {
		case c.HeadDim == 0 && c.HiddenSize%c.Heads != 0:
			report("num_attention_heads", "%d heads do not divide hidden_size %d; choose a divisor, or give head_dim", c.Heads, c.HiddenSize)
		case c.Positions == RoPE && c.HeadSize()%2 != 0:
			report("num_attention_heads", "a head is %d wide, expected an even width for positions rope; choose other heads", c.HeadSize())
		}
	}
	choice("norm", c.Norm, NormLayer, NormRMS)
	choice("activation", c.Activation, GELU, GELUTanh, GeGLU, GeGLUTanh, SwiGLU, SiLU, ReLU, ReLU2)
	choice("positions", c.Positions, RoPE, Learned, Grid, Sudoku, NoPositions)
	choice("time", c.Time, NoTime, AdaLN)
	if c.Head != HeadTokens {
		choice("head", c.Head, HeadKeep, HeadOrder)
	}
	if c.Head != HeadTokens && c.Tied {
		report("tie_word_embeddings", "is true, and head %s gives no logits of tokens; set it to false", c.Head)
	}
	c.validateGaps(&problems)
	if c.Positions == RoPE && !(c.RopeBase > 1 && c.RopeBase < math.Inf(1)) {
		report("rope_base", "is %g, expected a number above 1", c.RopeBase)
	}
	if c.Timed() && (c.TimeSize < 2 || c.TimeSize%2 != 0 || c.TimeSize > maxSize) {
		report("time_embedding_size", "is %d, expected an even number from 2", c.TimeSize)
	}
	if !(c.NormEps > 0 && c.NormEps < 1) {
		report("layer_norm_eps", "is %g, expected a small positive number", c.NormEps)
	}
	if !(c.InitializerRange >= 0 && c.InitializerRange < 100) {
		report("initializer_range", "is %g, expected a standard deviation, or 0 for one that fits each layer", c.InitializerRange)
	}
	if c.Tied {
		choice("head_init", c.HeadInit, "")
	} else {
		choice("head_init", c.HeadInit, "normal", "zeros")
	}
	c.validatePositions(&problems)
	c.validateKnobs(&problems)
	if problems == nil {
		return nil
	}
	return problems
}

func (c Config) validateGaps(problems *Problems) {
	report := problems.report
	switch {
	case c.Gaps != NoGaps && c.Gaps != GapsEOS:
		report("gaps", "is %q, expected %s, or none for a masked model", c.Gaps, GapsEOS)
	case c.Rates() && c.Head != HeadTokens:
		report("gaps", "is %q, and head %s rates none; leave it out", c.Gaps, c.Head)
	case c.Rates() && c.tabled():
		report("positions", "is %q, and the tokens of rows that grow have no cells of their own; choose %s, %s or %s", c.Positions, RoPE, Learned, NoPositions)
	case c.UnmaskRate && !c.Rates():
		report("unmask_rate", "is true, and only insertion models rate unmasking; set gaps to %s, or leave it out", GapsEOS)
	}
}

func (c Config) validatePositions(problems *Problems) {
	report := problems.report
	if !c.tabled() {
		if c.Grid != nil {
			report("grid", "is given, but positions is %q; set positions to %q", c.Positions, Grid)
		}
		if c.PositionTables != nil {
			report("position_tables", "are given, but positions is %q; set positions to %q", c.Positions, Grid)
		}
		return
	}
	if c.Grid != nil {
		if found := c.Grid.problems(); found != nil {
			*problems = append(*problems, found...)
			return
		}
	}
	if len(c.PositionTables) == 0 {
		report("position_tables", "none, and no grid; give grid: {rows, cols} or the tables")
	}
	seen := map[string]bool{}
	for i, t := range c.PositionTables {
		key := fmt.Sprintf("position_tables.%d", i)
		if !tableName.MatchString(t.Name) || seen[t.Name] {
			report(key+".name", "is %q, expected small letters, another for each table", t.Name)
		}
		seen[t.Name] = true
		if t.Size < 1 || t.Size > maxSize {
			report(key+".size", "is %d, expected 1 to %d", t.Size, maxSize)
		}
		if len(t.Index) != c.MaxPositions {
			report(key+".index", "has %d entries, expected %d, one for each of max_position_embeddings", len(t.Index), c.MaxPositions)
		}
		for at, n := range t.Index {
			if n < 0 || n >= t.Size {
				report(fmt.Sprintf("%s.index.%d", key, at), "is %d, expected 0 to %d", n, t.Size-1)
				break
			}
		}
	}
}

// problems says why no tables can be made, or nothing.
func (g *GridSpec) problems() (found Problems) {
	for _, n := range []struct {
		key   string
		value int
	}{{"grid.rows", g.Rows}, {"grid.cols", g.Cols}} {
		if n.value < 1 || n.value > 1<<12 {
			found.report(n.key, "is %d, expected 1 to %d", n.value, 1<<12)
		}
	}
	if found == nil && g.Box != nil && (len(g.Box) != 2 || g.Box[0] < 1 || g.Box[1] < 1 || g.Rows%g.Box[0] != 0 || g.Cols%g.Box[1] != 0) {
		found.report("grid.box", "is %v, expected two numbers that divide the %d rows and %d columns", g.Box, g.Rows, g.Cols)
	}
	return found
}
