package bedrock

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// fail completes e with what is known of the exchange, and with what had arrived.
func (a *answer) fail(e *llm.Error) (*llm.Response, error) {
	if status := a.wire.Status(); status != 0 && e.Status == 0 {
		e.RequestID = llm.HTTPError(status, a.wire.Header(), nil).RequestID
		if status >= 300 || e.Kind != llm.ErrCanceled && e.Kind != llm.ErrDeadlineExceeded {
			e.Status = status
		}
	}
	e.Partial = a.partial()
	return e.Partial, e
}

// refused is for a call without a 2xx response.
func (a *answer) refused(err error) (*llm.Response, error) {
	status := a.wire.Status()
	switch {
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, !a.wire.Sent()))
	case errors.Is(err, errPanic):
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "sdk_panic", NotSent: !a.wire.Sent(), Err: err})
	case status != 0:
		e := llm.HTTPError(status, a.wire.Header(), a.wire.ErrorBody())
		if a.wire.Redirect() != "" && e.Code == "" {
			e.Code = "redirected"
		}
		e.Err = secret.Cause(err)
		refine(e)
		return a.fail(e)
	case !a.wire.asked: // no matter of the network: it would be the same the next time
		return a.fail(&llm.Error{Kind: llm.ErrUnsupported, Code: "sdk_refused", NotSent: true, Err: secret.Cause(err)})
	}
	return a.fail(&llm.Error{Kind: llm.ErrConnection, Code: httpx.ConnectionCode(err), NotSent: !a.wire.Sent(), Err: secret.Cause(err)})
}

// exception is the error of an exception inside a stream.
func (a *answer) exception(name string, payload []byte) error {
	h := a.wire.Header().Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Set("X-Amzn-Errortype", name)
	e := llm.HTTPError(a.wire.Status(), h, bounds.Head(payload))
	if strings.EqualFold(name, "modelStreamErrorException") && e.Kind == llm.ErrInvalid {
		e.Kind = llm.ErrUnavailable // the model stopped in the middle of an answer: the request was good enough to begin
	}
	e.Err = secret.Cause(typed(name, e.Message))
	refine(e)
	return e
}

// typed is an exception as the SDK would have returned it.
func typed(name, message string) error {
	switch strings.ToLower(name) {
	case "throttlingexception":
		return &types.ThrottlingException{Message: &message}
	case "internalserverexception":
		return &types.InternalServerException{Message: &message}
	case "modelstreamerrorexception":
		return &types.ModelStreamErrorException{Message: &message}
	case "serviceunavailableexception":
		return &types.ServiceUnavailableException{Message: &message}
	case "validationexception":
		return &types.ValidationException{Message: &message}
	case "modeltimeoutexception":
		return &types.ModelTimeoutException{Message: &message}
	default:
		return &smithy.GenericAPIError{Code: name, Message: message}
	}
}

// refinements are the words with which a ValidationException says that the model is not there at all: a chain may go on
// to another target then.
var refinements = []struct {
	words string
	kind  llm.Kind
}{
	{"model identifier is invalid", llm.ErrNotFound},
	{"on-demand throughput isn", llm.ErrNotFound}, // it has inference profiles only
	{"reached the end of its life", llm.ErrNotFound},
}

// refine corrects the Kind where only Bedrock's words tell it.
func refine(e *llm.Error) {
	if e.Kind != llm.ErrInvalid && e.Kind != llm.ErrUnsupported {
		return
	}
	message := strings.ToLower(e.Message)
	for _, r := range refinements {
		if strings.Contains(message, r.words) {
			e.Kind = r.kind
			return
		}
	}
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, notSent bool) *llm.Error {
	return &llm.Error{Kind: llm.KindOf(ctx.Err()), NotSent: notSent, Err: context.Cause(ctx)}
}

// remedy is what might help against refused credentials.
type remedy int

const (
	none remedy = iota
	expired
	skewed // the clock
)

// maxSkew is how far a clock may be off before the service refuses signatures (it allows five minutes).
const maxSkew = 4 * time.Minute

// remedyFor reads a refusal of credentials.
func remedyFor(e *llm.Error, h http.Header) remedy {
	if e.Status != http.StatusForbidden && e.Status != http.StatusBadRequest && e.Status != http.StatusUnauthorized {
		return none
	}
	switch e.Code {
	case "ExpiredTokenException", "ExpiredToken":
		return expired
	case "RequestTimeTooSkewed", "InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired":
		date, err := http.ParseTime(h.Get("Date"))
		if skew := time.Since(date); err == nil && skew.Abs() > maxSkew {
			return skewed
		}
	}
	return none
}
