package policy

import (
	"context"
	"errors"
	"io"

	"github.com/punctual-llm/punctual/llm"
)

// Verdict is what the end of an attempt means.
type Verdict struct {
	Kind  llm.Kind
	Bound llm.Bound
}

// Judge says how a failed attempt ended, by ownership and time: the caller's context first, then our own
// limit, and only then the provider's error. callerErr is the error of the caller's context, callerOver
// whether its deadline has passed, fell the limit of ours that fell. context.Cause is not asked: when two
// limits end at the same instant it is a coin toss which of them cancels first.
func Judge(callerErr error, callerOver bool, fell llm.Bound, err error) Verdict {
	switch {
	case errors.Is(callerErr, context.Canceled):
		return Verdict{Kind: llm.ErrCanceled}
	case callerErr != nil || callerOver:
		return Verdict{Kind: llm.ErrDeadlineExceeded, Bound: llm.BoundCaller}
	case fell != "":
		return Verdict{Kind: llm.ErrTimeout, Bound: fell}
	default:
		return Verdict{Kind: providerKind(err)}
	}
}

// providerKind is the Kind of a provider's error while nothing of ours had ended. A provider that reports
// our own ends then speaks of its own.
func providerKind(err error) llm.Kind {
	switch kind := llm.KindOf(err); kind {
	case llm.ErrCanceled:
		return llm.ErrConnection
	case llm.ErrDeadlineExceeded:
		return llm.ErrTimeout
	case llm.ErrUnknown:
		if e, ok := errors.AsType[*llm.Error](err); ok && e != nil {
			err = e.Err // an llm.Error is a net.Error itself
		}
		if transport(err) || errors.Is(err, io.EOF) {
			return llm.ErrConnection
		}
		return kind
	default:
		return kind
	}
}
