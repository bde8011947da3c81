package e2e

import "syscall"

// dieWithParent makes a process end when the test does, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
