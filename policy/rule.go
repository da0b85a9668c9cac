package policy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// Rule is a row of the decision table: what a failure of one Kind means for the call, for the breaker and for
// the target.
type Rule struct {
	Same    bool          // the same target may be asked again, after its wait
	Next    bool          // another target may be asked
	Once    bool          // Same holds once
	Reserve bool          // Same holds only when no other target is usable
	Weight  float64       // in the target's breaker: 1 a failure, ½ a timeout, 0 alive, Neutral nothing
	Cool    time.Duration // how long the target is left alone
}

// Neutral is the weight of what says nothing about a target.
const Neutral = -1

const (
	coolWrong = time.Minute      // a target that is configured wrongly
	coolQuota = 10 * time.Minute // a quota that is used up; the reset is hours away more often than not
)

// rules is the decision table. A Kind that is not in it, as a later version may bring, is like ErrUnknown.
func rules(k llm.Kind) Rule {
	switch k {
	case llm.ErrInvalid, llm.ErrContentFiltered:
		return Rule{}
	case llm.ErrUnsupported, llm.ErrCircuitOpen:
		return Rule{Next: true, Weight: Neutral}
	case llm.ErrAuth, llm.ErrNotFound:
		return Rule{Next: true, Weight: Neutral, Cool: coolWrong}
	case llm.ErrContextTooLong:
		return Rule{Next: true}
	case llm.ErrRateLimited:
		return Rule{Same: true, Next: true, Reserve: true, Weight: Neutral}
	case llm.ErrQuotaExceeded:
		return Rule{Next: true, Weight: Neutral, Cool: coolQuota}
	case llm.ErrUnavailable, llm.ErrConnection:
		return Rule{Same: true, Next: true, Weight: 1}
	case llm.ErrTimeout:
		return Rule{Same: true, Next: true, Reserve: true, Weight: timeoutWeight}
	case llm.ErrInterrupted:
		return Rule{Same: true, Next: true, Once: true, Weight: 1}
	case llm.ErrBadOutput:
		return Rule{Same: true, Next: true, Once: true}
	case llm.ErrDeadlineExceeded:
		return Rule{Weight: timeoutWeight}
	case llm.ErrCanceled:
		return Rule{Weight: Neutral}
	default:
		return Rule{Next: true, Weight: 1}
	}
}

// RuleFor is the row of the decision table for a failure of kind k. content says that something had reached
// the caller: then nothing may be sent again, and a caller who left has seen that the target is alive. What p
// lists in FallbackOn goes on to the next target beyond the table, unless the call itself is over.
func RuleFor(k llm.Kind, content bool, p Plan) Rule {
	r := rules(k)
	switch {
	case content:
		r.Same, r.Next = false, false
		if k == llm.ErrCanceled {
			r.Weight = 0
		}
	case k == llm.ErrCanceled, k == llm.ErrDeadlineExceeded:
	case slices.Contains(p.FallbackOn, k):
		r.Next = true
	}
	return r
}

const (
	timeoutWeight   = 0.5
	evidenceAtLeast = 10 * time.Second
)

// Evidence is how long an attempt must have run for its timeout to say something about the target: 10 s, or a
// quarter of what the plan gives an attempt when that is less. A caller with two seconds left must not open
// the breaker of everybody.
func Evidence(attempt time.Duration) time.Duration { return min(evidenceAtLeast, attempt/4) }

// Weigh refines the rule's weight by what is known of the failure: e, which took ran of an attempt whose
// evidence begins at evidence. wire says that the network failed and not the provider.
func Weigh(r Rule, e *llm.Error, ran, evidence time.Duration) (weight float64, wire bool) {
	weight = r.Weight
	switch e.Kind {
	case llm.ErrTimeout:
		// A provider's own 408 or 504 needs no evidence: it speaks of itself.
		if e.Bound != "" && ran < evidence {
			weight = Neutral
		}
	case llm.ErrDeadlineExceeded:
		if ran < evidence {
			weight = Neutral
		}
	case llm.ErrUnavailable:
		switch {
		case strings.HasPrefix(e.Code, "ModelNotReady"):
			weight = timeoutWeight
		case e.Status == http.StatusConflict, e.Code == "ABORTED", e.Code == "Aborted":
			weight = Neutral
		}
	case llm.ErrBadOutput:
		if slices.Contains(wireCodes, e.Code) {
			weight = 1
		}
	case llm.ErrConnection:
		wire = true
	case llm.ErrInterrupted:
		wire = transport(e.Err)
	default: // as the table says
	}
	return weight, wire
}

// wireCodes are the codes of bad output that is no model's doing: the bytes could not be read. Adapters use
// these words.
var wireCodes = []string{
	"malformed_answer", "malformed_event", "event_too_large", "answer_too_large", "no_event_stream",
	"empty_answer", "no_response", "sdk_panic",
}

// transport reports whether err comes from below HTTP.
func transport(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// unmendable are the codes of connections that fail again however often they are tried: somebody has to change
// something first. Adapters use these words.
var unmendable = []string{
	"host_not_found", "not_tls", "certificate_not_trusted", "certificate_of_another_host", "certificate_expired",
}

// Again reports whether asking the same target again can help at all: not when it said so, and not when its
// name does not resolve, its certificate is not to be trusted, or it speaks no TLS.
func Again(e *llm.Error) bool {
	if e.NoRetry || e.Kind == llm.ErrConnection && slices.Contains(unmendable, e.Code) {
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok && dns.IsNotFound {
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		return false
	}
	_, ok := errors.AsType[tls.RecordHeaderError](e.Err)
	return !ok
}
