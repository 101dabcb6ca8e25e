package supervise

import (
	"os/exec"
	"syscall"
)

// dieWithHost makes the kernel kill the process when the thread that starts it ends. It is for the time before a plugin
// has opened its lifeline, and for those that never do.
func dieWithHost(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
