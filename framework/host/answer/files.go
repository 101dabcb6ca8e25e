package answer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
)

// CheckFiles refuses, before anything heavy starts, what would lose a file: a file that is written and serves as
// anything else too, answers that cannot go on, or a trace that exists. settings is the file of settings, or "". seed is
// that of the unfinished run in the file for the answers, or nil. The error is a [results.Refused], or a [config.Problems] where there
// is no trace to record into; nothing was changed.
func CheckFiles(cfg *config.Config, settings string) (seed *uint64, err error) {
	if err := errors.Join(distinct(cfg, settings), recordable(cfg)); err != nil {
		return nil, err
	}
	if cfg.Out != "" {
		if seed, err = results.Peek(cfg.Out, cfg.Overwrite); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(cfg.Trace)
	switch {
	case cfg.Trace == "" || err != nil || !info.Mode().IsRegular() || info.Size() == 0:
	case seed != nil: // --overwrite would begin the answers anew
		return nil, &results.Refused{File: cfg.Trace, Reason: fmt.Sprintf("exists; the run of %s goes on, so name another file for the trace of the rest", cfg.Out)}
	case !cfg.Overwrite:
		return nil, &results.Refused{File: cfg.Trace, Reason: "exists; name another file for the trace, or add --overwrite to replace it"}
	}
	return seed, nil
}

// distinct refuses a file that is written under one name and used under another.
func distinct(cfg *config.Config, settings string) error {
	type use struct {
		what, path string
		written    bool
	}
	uses := []use{{"the settings", settings, false}, {"the prompts", cfg.Prompts, false}, {"the answers", cfg.Out, true}, {"the trace", cfg.Trace, true}}
	if cfg.Prompts == "-" {
		uses[1].path = ""
	}
	if cfg.Out != "" {
		uses = append(uses, use{"the journal of the answers", results.Journal(cfg.Out), true})
		if cfg.Shard != "" {
			uses = append(uses, use{"the description of the shard", results.PieceFile(cfg.Out), true})
		}
	}
	for i, a := range uses {
		for _, b := range uses[:i] {
			if (a.written || b.written) && same(a.path, b.path) {
				return &results.Refused{File: a.path, Reason: fmt.Sprintf("is to be both %s and %s; name another file for one of them", b.what, a.what)}
			}
		}
	}
	return nil
}

// same tells whether two paths lead to one file that can lose its content; terminals and /dev/null cannot.
func same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err := os.Stat(a)
	if err != nil {
		return absolute(a) == absolute(b)
	}
	second, err := os.Stat(b)
	return err == nil && first.Mode().IsRegular() && os.SameFile(first, second)
}

// absolute is the path without symbolic links in its directory, which must exist for a file to be made in it.
func absolute(path string) string {
	path, _ = filepath.Abs(path) // fails only without a working directory
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}
