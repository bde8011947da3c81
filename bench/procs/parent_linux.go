package procs

import "syscall"

// dieWithParent makes a process end when this one does, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
