//go:build !linux

package procs

import "syscall"

// dieWithParent is known on Linux only; figures are taken there anyway, because of /proc.
func dieWithParent() *syscall.SysProcAttr { return nil }
