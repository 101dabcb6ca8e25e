package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// task is what all points are asked: questions, and where they come from data, the answers.
type task struct {
	asked   []results.Question
	answers []train.Answered // nil where rows are free
	blanks  []blanks         // by row of data
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
		b := blanks{count: free}
		if t.model.Insertion() {
			_, suffix := t.model.Tokenizer.Template()
			tokens, b = places(tokens, t.model.MaskID, len(suffix))
		}
		t.asked = append(t.asked, results.Question{Kind: results.Tokens, Tokens: tokens, Place: fmt.Sprintf("row %d", i)})
		t.blanks = append(t.blanks, b)
	}
	return nil
}

// blanks are where a row of data has something to write.
type blanks struct{ count, before, behind int } // how many; given tokens before the first and behind the last of them

// places makes the question for a model that inserts tokens of the one for a model that fills blanks: one blank where there
// is a run of them, whose length is not given away. Where the data has nothing to write that is before the last tokens of
// the row, end in number.
func places(tokens []int32, mask int32, end int) ([]int32, blanks) {
	b := blanks{before: slices.Index(tokens, mask)}
	if b.before < 0 {
		b.before, b.behind = len(tokens)-end, end
		return slices.Insert(tokens, b.before, mask), b
	}
	for b.behind = 0; tokens[len(tokens)-1-b.behind] != mask; {
		b.behind++
	}
	b.count = len(tokens) - b.before - b.behind
	return slices.CompactFunc(tokens, func(x, y int32) bool { return x == mask && y == mask }), b
}

// right counts the tokens that are those of the data, of how many. Of a row that grew, tokens are compared place by place
// from the first blank on, up to what is given at the end, and those that one of the two has not are wrong.
func (t *task) right(r sampling.Result) (right, of int) {
	a, b := t.answers[r.Index], t.blanks[r.Index]
	if !t.model.Insertion() {
		return a.Right(r.Tokens), b.count
	}
	between := func(row []int32) []int32 {
		return row[min(b.before, len(row)):max(len(row)-b.behind, min(b.before, len(row)))]
	}
	got, want := between(r.Tokens), between(a.Tokens)
	for i := range min(len(got), len(want)) {
		if got[i] == want[i] {
			right++
		}
	}
	return right, max(len(got), len(want))
}

// key tells points apart whose rows may differ: it covers their settings, the model, and the questions with their answers.
func (t *task) key(cfg *config.Config, seed uint64) (string, error) {
	settings := cfg.Settings()
	for _, name := range []string{"model", "prompts"} { // their content counts, not their names
		delete(settings, name)
	}
	text, err := json.Marshal([]any{"2", settings, seed, t.digest, t.asked, t.answers})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
