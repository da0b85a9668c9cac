//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// inForeground reports whether this process belongs to the job in the foreground of its terminal: Ctrl-C there
// sends an interrupt to all of that job, children included. Without a terminal it is false.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group))) //nolint:gosec // ioctl wants an address
	return errno == 0 && int(group) == syscall.Getpgrp()
}
