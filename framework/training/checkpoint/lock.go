package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// holder is who works in a run directory, as the file "lock" says.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Busy is the error of a run directory that another process works in; nothing was changed.
type Busy struct{ Run, Holder string }

// Error names the holder.
func (b *Busy) Error() string {
	return fmt.Sprintf("run %s: %s works in it; wait for its end, stop it, or name another run directory", b.Run, b.Holder)
}

func lockPath(run string) string { return filepath.Join(run, "lock") }

// lock takes a run directory for this process. The system frees it when the process ends, however that happens.
func lock(run string) (*flock.Flock, error) {
	l := flock.New(lockPath(run), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	if !locked {
		return nil, &Busy{run, readHolder(lockPath(run))}
	}
	return l, nil
}

// sign says who works in a directory that this process holds.
func sign(run string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	text, err := json.Marshal(holder{os.Getpid(), host, time.Now().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return os.WriteFile(lockPath(run), append(text, '\n'), 0o644)
}

// readHolder describes who holds a lock. The holder may not have written its name yet: then there is none, or that of a process
// that is gone.
func readHolder(path string) string {
	var h holder
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return "another process"
	}
	if host, err := os.Hostname(); err == nil && host == h.Host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH) {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s (since %s)", h.PID, h.Host, h.Since.Format(time.DateTime))
}
