//go:build !unix

package cloud

import (
	"errors"
	"net"
)

// shrinkBacklog cannot be had here.
func shrinkBacklog(net.Listener) error { return errors.ErrUnsupported }
