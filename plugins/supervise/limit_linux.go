package supervise

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// limits tells that this system can limit what a process takes.
const limits = true

// hold sets the limits of a process that has just been started, for good: neither it nor its children can raise them. What has a
// limit on its memory leaves no core file, which would put that memory onto the disk.
func (l Limits) hold(pid int) error {
	if l.Memory > 0 {
		if err := set(pid, unix.RLIMIT_DATA, uint64(l.Memory)); err != nil {
			return fmt.Errorf("%w: its memory cannot be limited to %d MiB: %w", errLimits, l.Memory>>20, err)
		}
		if err := set(pid, unix.RLIMIT_CORE, 0); err != nil {
			return fmt.Errorf("%w: its core file cannot be forbidden: %w", errLimits, err)
		}
	}
	if l.OpenFiles > 0 {
		if err := set(pid, unix.RLIMIT_NOFILE, uint64(l.OpenFiles)); err != nil {
			return fmt.Errorf("%w: its open files cannot be limited to %d: %w", errLimits, l.OpenFiles, err)
		}
	}
	return nil
}

func set(pid, resource int, most uint64) error {
	err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended already, and that is told otherwise
	}
	return err
}
