//go:build !unix

package supervise

import (
	"os"
	"os/exec"
	"strconv"
)

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) error { return p.Kill() }

// ended says in words how a process ended.
func ended(s *os.ProcessState) string { return "exited with status " + strconv.Itoa(s.ExitCode()) }
