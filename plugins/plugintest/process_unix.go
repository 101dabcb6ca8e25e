//go:build unix

package plugintest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// apart gives the process a group of its own, so that what it starts ends with it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// slay ends a process that was started apart, and its children.
func slay(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func killed(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

func terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// resident returns the bytes of memory that a process has, where the system tells (Linux).
func resident(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}
