package main

import (
	"errors"
	"net"

	"github.com/punctual-llm/punctual/llm"
)

// The exit statuses, as `punctual help exit` lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitConfig      = 3
	exitMend        = 4
	exitTime        = 5
	exitLater       = 6
	exitInterrupted = 130
)

const exitHelp = `Exit statuses of every command:

    0  done
    1  failed for another reason (the error says which)
    2  wrong use: a command, flag, operation or argument is not right
    3  configuration: a file, a variable or an endpoint is not right
    4  auth, not_found, no such host: somebody must mend a credential or a name
    5  timeout, deadline_exceeded: the call needs more time
    6  another passing fault: the same call may succeed later
  130  interrupted

A script that retries does so on 5 and 6 only.
`

// exitStatusOf is exitStatus, but a host that does not exist is somebody's to mend, and will not come by itself.
func exitStatusOf(e *llm.Error) int {
	if noSuchHost(e) {
		return exitMend
	}
	return exitStatus(e.Kind)
}

func noSuchHost(e *llm.Error) bool {
	dns, ok := errors.AsType[*net.DNSError](e.Err)
	return e.Kind == llm.ErrConnection && ok && dns.IsNotFound
}

// exitStatus is the exit status of a call that ended with kind.
func exitStatus(kind llm.Kind) int {
	switch kind {
	case "":
		return exitDone
	case llm.ErrAuth, llm.ErrNotFound:
		return exitMend
	case llm.ErrTimeout, llm.ErrDeadlineExceeded:
		return exitTime
	case llm.ErrCanceled:
		return exitInterrupted
	case llm.ErrInvalid, llm.ErrUnsupported, llm.ErrContextTooLong, llm.ErrContentFiltered,
		llm.ErrQuotaExceeded, llm.ErrBadOutput, llm.ErrUnknown:
		return exitFailed
	default:
		if kind.Transient() {
			return exitLater
		}
		return exitFailed
	}
}
