//go:build !unix

package plugintest

import (
	"errors"
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

// slay ends a process.
func slay(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

func killed(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func terminate(int) error { return errors.New("this system has no SIGTERM") }

func resident(int) (int64, bool) { return 0, false }
