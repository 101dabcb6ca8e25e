package wholefile

import (
	"errors"
	"os"
)

// exchangeByTurns lets two directories trade names in three steps. A program that is killed between them leaves the old
// directory under its name with ".old" added.
func exchangeByTurns(a, b string) error {
	old := b + ".old"
	if err := os.Rename(b, old); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(old, b))
	}
	return os.Rename(old, a)
}
