package evaluate

import "math"

// Bound is -log p of rows by a trainer's evaluation: nats a row, and bits for each of what the rows are made of.
type Bound struct {
	Kind             string   `json:"kind"`                         // bound, path_bound or estimate: numbers of different kinds are never compared
	NatsPerRow       Measure  `json:"nats_per_row"`                 // mean over rows
	BitsPerToken     Measure  `json:"bits_per_token"`               // of the free tokens of all rows
	BitsPerDimension Measure  `json:"bits_per_dimension"`           // a dimension is a free position: the same number as that of tokens
	BitsPerCharacter *Measure `json:"bits_per_character,omitempty"` // of their text; nil where they have none
	Rows             int      `json:"rows"`
	Tokens           int64    `json:"tokens"`
	Characters       int64    `json:"characters"`
}

// Row is the bound of one row in nats, with the number of its free tokens and of the characters that they spell.
type Row struct {
	Nats               float64
	Tokens, Characters int
}

// NewBound adds rows up. Standard errors are those of a sample of independent rows.
func NewBound(kind string, rows []Row) Bound {
	b := Bound{Kind: kind, Rows: len(rows)}
	nats, tokens, characters := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))
	for i, r := range rows {
		nats[i], tokens[i], characters[i] = r.Nats, float64(r.Tokens), float64(r.Characters)
		b.Tokens += int64(r.Tokens)
		b.Characters += int64(r.Characters)
	}
	b.NatsPerRow = Mean(nats)
	b.BitsPerToken = Ratio(nats, tokens).Bits()
	b.BitsPerDimension = b.BitsPerToken
	if b.Characters > 0 {
		m := Ratio(nats, characters).Bits()
		b.BitsPerCharacter = &m
	}
	return b
}

// Accuracy is how often rows with known answers were filled in rightly, and at what cost.
type Accuracy struct {
	Cells     Measure `json:"cells"` // share of right tokens among the free positions
	Rows      Measure `json:"rows"`  // share of rows that are right everywhere
	FreeCells int     `json:"free_cells"`
	Asked     int     `json:"asked"` // rows
	NFE       float64 `json:"nfe"`   // forward passes a row
	Planner   string  `json:"planner"`
	Sampler   string  `json:"sampler"`
}

// Answer is what became of one row: free positions, those that were filled in rightly, and the forward passes that it took.
type Answer struct{ Free, Right, NFE int }

// NewAccuracy adds answers up. The error of the cells' share takes rows as what was drawn: cells of one row depend on each other.
func NewAccuracy(answers []Answer) Accuracy {
	a := Accuracy{Asked: len(answers)}
	right, free, whole := make([]float64, len(answers)), make([]float64, len(answers)), make([]float64, len(answers))
	nfe := 0
	for i, r := range answers {
		right[i], free[i] = float64(r.Right), float64(r.Free)
		if r.Right == r.Free {
			whole[i] = 1
		}
		a.FreeCells += r.Free
		nfe += r.NFE
	}
	a.Cells, a.Rows = Ratio(right, free), Mean(whole)
	a.NFE = float64(nfe) / math.Max(1, float64(len(answers)))
	return a
}
