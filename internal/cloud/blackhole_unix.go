//go:build unix

package cloud

import (
	"net"
	"syscall"
)

// shrinkBacklog makes the queue of connections that l has not accepted as short as the system allows.
func shrinkBacklog(l net.Listener) error {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = syscall.Listen(int(fd), 0) }); err != nil {
		return err
	}
	return listenErr
}
