package train

import (
	"context"
	"errors"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
)

// Answered is a row of validation data: its tokens [L], special ones included, and which of them are given.
type Answered struct {
	Tokens []int32
	Fixed  []bool
}

// Asked returns the tokens with the mask where nothing is given, and how many those are.
func (a Answered) Asked(maskID int32) (tokens []int32, free int) {
	tokens = slices.Clone(a.Tokens)
	at := targets(a.Fixed)
	for _, i := range at {
		tokens[i] = maskID
	}
	return tokens, len(at)
}

// Right counts the free positions where tokens agree with the data.
func (a Answered) Right(tokens []int32) (right int) {
	for _, i := range targets(a.Fixed) {
		if i < len(tokens) && tokens[i] == a.Tokens[i] {
			right++
		}
	}
	return right
}

// AnsweredRows reads the first rows of the validation data of cfg with the model's tokenizer, at most so many.
func AnsweredRows(ctx context.Context, cfg *config.Config, m *model.Model, most int) (_ []Answered, err error) {
	d, err := (&gauge{cfg: cfg, model: m}).open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var out []Answered
	err = eachRow(d.Valid, min(most, d.Valid.Rows()), func(_ int, row line) error {
		out = append(out, Answered{slices.Clone(row.tokens), slices.Clone(row.fixed)})
		return nil
	})
	return out, err
}
