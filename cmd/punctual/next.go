package main

import (
	"errors"
	"fmt"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
)

// next says what to do about a failed call, one sentence a line. What failed first is told beside what
// failed last: both must be mended.
func next(e *llm.Error, conf *config.Config) []string {
	var lines []string
	seen := map[string]bool{}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		if a.Kind == "" || a.Target == e.Target && a.Kind == e.Kind {
			continue
		}
		if a.Kind == llm.ErrAuth || a.Kind == llm.ErrNotFound {
			lines = appendNew(lines, seen, nextFor(a.Kind, a.Target, a.Bound, &llm.Error{Kind: a.Kind, NotSent: a.NotSent}, conf))
		}
	}
	lines = appendNew(lines, seen, nextFor(e.Kind, e.Target, e.Bound, e, conf))
	if e.Stopped == llm.StopDeadline && e.Bound == "" && e.Kind != llm.ErrCanceled {
		lines = appendNew(lines, seen, "there was no time to wait and try again: a longer -deadline leaves some")
	}
	return lines
}

func appendNew(lines []string, seen map[string]bool, line string) []string {
	if line == "" || seen[line] {
		return lines
	}
	seen[line] = true
	return append(lines, line)
}

// nextFor is the one sentence of a Kind.
func nextFor(kind llm.Kind, target string, bound llm.Bound, e *llm.Error, conf *config.Config) string {
	at := placesOf(conf, target)
	if target == "" {
		target = "the target"
	}
	field := "the request"
	advice := ""
	if f, ok := errors.AsType[*llm.FieldError](e.Err); ok {
		field, advice = f.Field, f.Next
	}
	switch kind {
	case llm.ErrInvalid:
		if advice == "" {
			return "correct the request; -v shows what the provider says of it"
		}
		return "correct the request: " + field + ": " + advice
	case llm.ErrUnsupported:
		return fmt.Sprintf("%s cannot carry %s: route to one that can, or leave it out", target, field)
	case llm.ErrAuth:
		return nextForAuth(target, e, at)
	case llm.ErrNotFound:
		return fmt.Sprintf("%s has no such model, deployment or path: check %s", target, at.place)
	case llm.ErrContextTooLong:
		return "shorten the messages, or add a target with a larger window"
	case llm.ErrContentFiltered:
		return fmt.Sprintf("%s's filter stopped it (-v shows what): change the prompt", target)
	case llm.ErrRateLimited, llm.ErrQuotaExceeded:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("%s asks for %s: try then, or add quota or a target with its own", target, span(e.RetryAfter))
		}
		return fmt.Sprintf("%s is at its limit: try later, or add quota or a target with its own", target)
	case llm.ErrConnection:
		return nextForConnection(e, at.host)
	case llm.ErrUnavailable, llm.ErrInterrupted, llm.ErrCircuitOpen:
		return nextLater
	case llm.ErrTimeout, llm.ErrDeadlineExceeded:
		return nextForBound(target, bound, limitPlace(conf, e.Operation, bound))
	case llm.ErrBadOutput:
		return "the answer was not what was asked for; -v shows what is known of it"
	case llm.ErrCanceled:
		return "it was stopped by the caller; nothing needs mending"
	default:
		return "-v shows the provider's own words"
	}
}

// nextForAuth tells a credential that was refused from one that was not there to be sent.
func nextForAuth(target string, e *llm.Error, at places) string {
	switch {
	case e.Code == "no_profile":
		return fmt.Sprintf("%s found no such profile: check AWS_PROFILE and AWS's files", target)
	case e.NotSent && adviceOf(e) != "":
		return fmt.Sprintf("%s got no credential: %s", target, adviceOf(e))
	case e.NotSent:
		return fmt.Sprintf("%s found no credential: set %s", target, at.credential)
	default:
		return fmt.Sprintf("%s refused its credential: check %s", target, at.credential)
	}
}

// adviceOf is what the adapter itself says, "" if it says nothing.
func adviceOf(e *llm.Error) string {
	if f, ok := errors.AsType[*llm.FieldError](e.Err); ok {
		return f.Next
	}
	return ""
}

// nextForConnection goes by the word for the cause: much of it will not come right by itself.
func nextForConnection(e *llm.Error, host string) string {
	switch connectionCode(e) {
	case httpx.CodeHostNotFound:
		return "there is no such host: check " + host
	case httpx.CodeLookupFailed:
		return "no name server answered: try later, or check this machine's network"
	case httpx.CodeNotTrusted:
		return "nobody whom this machine trusts signed the certificate: check " + host + ", or install the signer's (SSL_CERT_FILE)"
	case httpx.CodeWrongHost:
		return "the certificate is another host's: check " + host
	case httpx.CodeExpired:
		return "the certificate is not valid now: have it renewed, or set this machine's clock"
	case httpx.CodeNotTLS:
		return "the server does not speak TLS there: check scheme and port in " + host
	case httpx.CodeTLSRefused:
		return "the server wants another version of TLS or a client's certificate: ask who runs it"
	case httpx.CodeProxyRefused:
		return "the proxy refuses the way to that host, or wants another user and password: check proxy, or HTTPS_PROXY"
	case httpx.CodeConnectionRefused:
		return "nobody listens there: try later, or check host and port in " + host
	case httpx.CodeUnreachable, httpx.CodeConnectTimeout:
		return "there is no way to that host: try later, or check this machine's network and " + host
	default:
		return nextLater
	}
}

const nextLater = "the same call may succeed later; if it does not, check that the endpoint is right and reachable"

func nextForBound(target string, bound llm.Bound, setBy string) string {
	switch bound {
	case llm.BoundCaller, llm.BoundExecution:
		return "a longer -deadline gives each target more time"
	case llm.BoundEnd:
		return "a stream without a deadline ends after 10 minutes: give a -deadline for a longer one"
	case "":
		return "the provider gave up by itself: the same call may succeed later"
	default:
		return fmt.Sprintf("%s was silent to the end of its limit (%s): give more time, or ask another target", target, setBy)
	}
}
