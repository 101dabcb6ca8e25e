package supervise

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// errLimits is a limit that the system does not let the host set.
var errLimits = errors.New("limit")

// outOfMemory is how runtimes say that they get no more memory: Go, Python, C++, Rust, and the C library.
var outOfMemory = regexp.MustCompile(`(?i)out of memory|MemoryError|std::bad_alloc|cannot allocate memory|memory allocation of \d+ bytes failed|failed to create new OS thread|pthread_create failed`)

// outOfFiles is how they say that they get no more file descriptors.
var outOfFiles = regexp.MustCompile(`(?i)too many open files`)

// limitable refuses limits that cannot hold.
func (s *Spec) limitable() error {
	l := s.Limits
	switch {
	case l.Memory < 0 || l.OpenFiles < 0:
		return s.fail(sampling.InvalidConfig, fmt.Sprintf("its limits are %d bytes and %d files, expected numbers of at least 0", l.Memory, l.OpenFiles), "0 is no limit")
	case !limits && (l.Memory > 0 || l.OpenFiles > 0):
		return s.fail(sampling.InvalidConfig, "this system cannot limit what a process takes", "leave the limits on memory and open files away; Linux has them")
	}
	return nil
}

// exceeded tells from a process's words that it died of a limit; nil when they say nothing of the kind.
func (s *Spec) exceeded(words string) error {
	switch l := s.Limits; {
	case l.Memory > 0 && outOfMemory.MatchString(words):
		return s.fail(sampling.Exhausted, fmt.Sprintf("it took more than the %d MiB of memory that it may have (%s)", l.Memory>>20, outOfMemory.FindString(words)), "raise "+l.MemoryName)
	case l.OpenFiles > 0 && outOfFiles.MatchString(words):
		return s.fail(sampling.Exhausted, fmt.Sprintf("it opened more than the %d files that it may have (%s)", l.OpenFiles, outOfFiles.FindString(words)), "raise "+l.OpenFilesName)
	}
	return nil
}
