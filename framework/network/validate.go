package network

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// maxSize bounds every size, far above real networks, so that products of two stay small numbers.
const maxSize = 1 << 24

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Validate checks a filled config and lists all problems at once, each under its key.
func (c Config) Validate() error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	choice := func(key, value string, known ...string) {
		if !slices.Contains(known, value) {
			report("%s: is %q, expected %s", key, value, strings.Join(known, ", "))
		}
	}
	choice("model_type", c.ModelType, ModelType)
	for _, n := range []struct {
		key   string
		value int
	}{{"vocab_size", c.VocabSize}, {"hidden_size", c.HiddenSize}, {"num_hidden_layers", c.Layers},
		{"num_attention_heads", c.Heads}, {"intermediate_size", c.Intermediate}} {
		if n.value < 1 || n.value > maxSize {
			report("%s: is %d, expected 1 to %d", n.key, n.value, maxSize)
		}
	}
	if c.MaxPositions < 0 || c.MaxPositions > maxSize || c.MaxPositions == 0 && c.placed() {
		report("max_position_embeddings: is %d, expected 1 to %d", c.MaxPositions, maxSize)
	}
	if c.Heads > 0 && c.HiddenSize > 0 {
		switch {
		case c.HiddenSize%c.Heads != 0:
			report("num_attention_heads: %d heads do not divide hidden_size %d; choose a divisor", c.Heads, c.HiddenSize)
		case c.Positions == RoPE && c.HeadSize()%2 != 0:
			report("num_attention_heads: a head is %d wide, expected an even width for positions rope; choose other heads", c.HeadSize())
		}
	}
	choice("norm", c.Norm, NormLayer, NormRMS)
	choice("activation", c.Activation, GELU, SwiGLU, SiLU, ReLU2)
	choice("positions", c.Positions, RoPE, Learned, Grid, Sudoku, NoPositions)
	choice("time", c.Time, NoTime, AdaLN)
	if c.Positions == RoPE && !(c.RopeBase > 1 && c.RopeBase < math.Inf(1)) {
		report("rope_base: is %g, expected a number above 1", c.RopeBase)
	}
	if c.Timed() && (c.TimeSize < 2 || c.TimeSize%2 != 0 || c.TimeSize > maxSize) {
		report("time_embedding_size: is %d, expected an even number from 2", c.TimeSize)
	}
	if !(c.NormEps > 0 && c.NormEps < 1) {
		report("layer_norm_eps: is %g, expected a small positive number", c.NormEps)
	}
	if !(c.InitializerRange >= 0 && c.InitializerRange < 100) {
		report("initializer_range: is %g, expected a standard deviation, or 0 for one that fits each layer", c.InitializerRange)
	}
	if c.Tied {
		choice("head_init", c.HeadInit, "")
	} else {
		choice("head_init", c.HeadInit, "normal", "zeros")
	}
	c.validatePositions(report)
	return errors.Join(problems...)
}

func (c Config) validatePositions(report func(string, ...any)) {
	if !c.tabled() {
		if c.Grid != nil {
			report("grid: is given, but positions is %q; set positions to %q", c.Positions, Grid)
		}
		if c.PositionTables != nil {
			report("position_tables: are given, but positions is %q; set positions to %q", c.Positions, Grid)
		}
		return
	}
	if c.Grid != nil {
		if p := c.Grid.problem(); p != "" {
			report("grid: %s", p)
			return
		}
	}
	if len(c.PositionTables) == 0 {
		report("position_tables: none, and no grid; give grid: {rows, cols} or the tables")
	}
	seen := map[string]bool{}
	for i, t := range c.PositionTables {
		key := fmt.Sprintf("position_tables.%d", i)
		if !tableName.MatchString(t.Name) || seen[t.Name] {
			report("%s.name: is %q, expected small letters, another for each table", key, t.Name)
		}
		seen[t.Name] = true
		if t.Size < 1 || t.Size > maxSize {
			report("%s.size: is %d, expected 1 to %d", key, t.Size, maxSize)
		}
		if len(t.Index) != c.MaxPositions {
			report("%s.index: has %d entries, expected %d, one for each of max_position_embeddings", key, len(t.Index), c.MaxPositions)
		}
		for at, n := range t.Index {
			if n < 0 || n >= t.Size {
				report("%s.index.%d: is %d, expected 0 to %d", key, at, n, t.Size-1)
				break
			}
		}
	}
}

// problem says why no tables can be made, or nothing.
func (g *GridSpec) problem() string {
	switch {
	case g.Rows < 1 || g.Cols < 1 || g.Rows > 1<<12 || g.Cols > 1<<12:
		return fmt.Sprintf("is %d by %d, expected 1 to 4096 rows and columns", g.Rows, g.Cols)
	case g.Box == nil:
	case len(g.Box) != 2 || g.Box[0] < 1 || g.Box[1] < 1 || g.Rows%g.Box[0] != 0 || g.Cols%g.Box[1] != 0:
		return fmt.Sprintf("box is %v, expected two numbers that divide the %d rows and %d columns", g.Box, g.Rows, g.Cols)
	}
	return ""
}
