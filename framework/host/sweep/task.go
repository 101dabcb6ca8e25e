package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
)

// task is what all points are asked: questions, and where they come from data, the answers.
type task struct {
	asked   []results.Question
	answers []train.Answered // nil where rows are free
	free    []int            // by row of data: its blanks
	model   *model.Model
	digest  string // of the model
}

// newTask takes the first rows of the validation data of cfg; without any, the lines of its prompts in turn, or rows of
// nothing but blanks.
func newTask(ctx context.Context, cfg *config.Config, rows int) (*task, error) {
	t := &task{}
	var err error
	if t.model, err = model.Open(cfg.Model); err != nil {
		return nil, err
	}
	if t.digest, err = t.model.Digest(); err != nil {
		return nil, err
	}
	if len(cfg.Data.Valid) > 0 || cfg.Data.Prepared != "" {
		return t, t.read(ctx, cfg, rows)
	}
	from := []results.Question{{Kind: results.Prompt, Text: cfg.Prompt, Place: cmp.Or(cfg.Origin("length").String(), "no input")}}
	if cfg.Prompts != "" {
		f, err := os.Open(cfg.Prompts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.Origin("prompts"), err)
		}
		defer f.Close() //nolint:errcheck // only read
		if from, err = results.ReadQuestions(cfg.Prompts, f); err != nil {
			return nil, err
		}
		if len(from) == 0 {
			return nil, fmt.Errorf("%s: %s has no lines; give prompts", cfg.Origin("prompts"), cfg.Prompts)
		}
	}
	for i := range rows {
		t.asked = append(t.asked, from[i%len(from)])
	}
	return t, nil
}

// read takes rows of data, of which only what is given is asked.
func (t *task) read(ctx context.Context, cfg *config.Config, rows int) (err error) {
	if t.answers, err = train.AnsweredRows(ctx, cfg, t.model, rows); err != nil {
		return err
	}
	for i, a := range t.answers {
		tokens, free := a.Asked(t.model.MaskID)
		t.asked = append(t.asked, results.Question{Kind: results.Tokens, Tokens: tokens, Place: fmt.Sprintf("row %d", i)})
		t.free = append(t.free, free)
	}
	return nil
}

// key tells points apart whose rows may differ: it covers their settings, the model, and the questions with their answers.
func (t *task) key(cfg *config.Config, seed uint64) (string, error) {
	settings := cfg.Settings()
	for _, name := range []string{"model", "prompts"} { // their content counts, not their names
		delete(settings, name)
	}
	text, err := json.Marshal([]any{"1", settings, seed, t.digest, t.asked, t.answers})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
