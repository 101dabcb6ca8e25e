package synthetic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Amounts are the numbers of rows of a data set.
type Amounts struct{ Train, Valid, Test int }

// attempts is how often a row of training is drawn anew because its prompt is that of another file.
const attempts = 1000

// Write makes the new directory dir with train.jsonl, valid.jsonl and test.jsonl (those that have rows), a function of task,
// amounts, seed and fill alone. Texts are brought to one length where fill is set, see [Fill]. Prompts of test and
// validation do not occur in training, nor those of test in validation. After an error there is no directory.
func Write(ctx context.Context, dir string, task Task, amounts Amounts, seed uint64, fill bool) (err error) {
	if err := task.Validate(); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: exists; remove it, or name another directory", dir)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("%s: %w; name a directory that can be made", dir, err)
	}
	part, err := os.MkdirTemp(parent, filepath.Base(dir)+".*.part")
	if err != nil {
		return fmt.Errorf("%s: %w; name a directory that can be made", dir, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(part)
		}
	}()
	seen, fillTo := map[string]bool{}, 0
	if fill {
		_, fillTo = task.Limits()
	}
	// Training comes last, so that the law of the others is that of the task itself.
	for i, file := range []struct {
		name string
		rows int
	}{{"test", amounts.Test}, {"valid", amounts.Valid}, {"train", amounts.Train}} {
		if file.rows == 0 {
			continue
		}
		own := []string{}
		err := wholefile.Replace(filepath.Join(part, file.name+".jsonl"), func(w io.Writer) error {
			lines, rng := json.NewEncoder(w), source(seed, i)
			lines.SetEscapeHTML(false)
			for range file.rows {
				if err := ctx.Err(); err != nil {
					return err
				}
				row, err := unseen(task, rng, seen)
				if err != nil {
					return err
				}
				if row.Prompt != "" {
					own = append(own, row.Prompt)
				}
				if err := lines.Encode(row.Filled(fillTo)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
		for _, prompt := range own {
			seen[prompt] = true
		}
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := errors.Join(wholefile.SyncDir(part), os.Rename(part, dir)); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return wholefile.SyncDir(parent)
}

// unseen draws a row whose prompt no earlier file has.
func unseen(task Task, rng *rand.Rand, seen map[string]bool) (Row, error) {
	for range attempts {
		if row := task.Draw(rng); !seen[row.Prompt] {
			return row, nil
		}
	}
	return Row{}, errors.New("the task has too few different prompts for rows that the other files have not; ask for fewer rows of test and validation")
}
