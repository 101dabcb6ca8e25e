package wholefile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Exchange lets two directories trade names in one step, where the file system can.
func Exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return exchangeByTurns(a, b)
	}
	return err
}
