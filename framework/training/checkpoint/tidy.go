package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// asideSuffix marks a checkpoint that is being replaced by one of the same step.
const asideSuffix = ".old.part"

// tidy removes what a killed run left half written or half removed, and brings a checkpoint back that was moved aside for
// one that never came.
func (s *Store) tidy() error {
	entries, err := os.ReadDir(stepsDir(s.run))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "step-") || !strings.HasSuffix(e.Name(), ".part") {
			continue
		}
		path := filepath.Join(stepsDir(s.run), e.Name())
		dir, aside := strings.CutSuffix(path, asideSuffix)
		if _, missing := os.Lstat(dir); aside && errors.Is(missing, fs.ErrNotExist) {
			err = os.Rename(path, dir)
		} else {
			err = os.RemoveAll(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune removes the checkpoints before m's that are neither among the newest nor the best. Damaged ones count for nothing.
func (s *Store) prune(m Manifest) error {
	if s.keep <= 0 {
		return nil
	}
	all, err := steps(s.run)
	if err != nil {
		return err
	}
	kept := 0
	for _, step := range slices.Backward(all) {
		switch {
		case step > m.Step: // damaged, to be replaced when the run comes there
			continue
		case m.Best != nil && step == m.Best.Step && !s.damaged[step] && kept >= s.keep:
			continue
		case !s.damaged[step] && kept < s.keep:
			kept++
			continue
		}
		// Under its name it must always be whole.
		part := stepDir(s.run, step) + ".part"
		if err := errors.Join(os.Rename(stepDir(s.run, step), part), os.RemoveAll(part)); err != nil {
			return err
		}
	}
	return nil
}
