package main

import (
	"cmp"

	"github.com/punctual-llm/punctual/internal/httpx"
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
    4  auth, not_found, no such host, a wrong certificate: somebody must mend it
    5  timeout, deadline_exceeded: the call needs more time
    6  another passing fault: the same call may succeed later
  130  interrupted

A script that retries does so on 5 and 6 only. Of several calls (generate
-lines, check -live) it is 4 if one needs that, or else that of the first which
failed.
`

// exitStatusOf is exitStatus, but a wrong host or a certificate is somebody's to mend, and will not come right by itself.
func exitStatusOf(e *llm.Error) int {
	if e.Kind == llm.ErrConnection && toMend(connectionCode(e)) {
		return exitMend
	}
	return exitStatus(e.Kind)
}

// connectionCode is the word for why there was no connection, "" if there is none for it.
func connectionCode(e *llm.Error) string { return cmp.Or(e.Code, httpx.ConnectionCode(e.Err)) }

func toMend(code string) bool {
	switch code {
	case httpx.CodeHostNotFound, httpx.CodeNotTrusted, httpx.CodeWrongHost, httpx.CodeExpired, httpx.CodeNotTLS, httpx.CodeTLSRefused,
		httpx.CodeProxyRefused:
		return true
	default:
		return false
	}
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
