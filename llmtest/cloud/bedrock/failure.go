package bedrock

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// failure is the service's own exception for an error of a script. Its Code is the name of an exception; Code,
// Status and Message replace what its Kind stands for.
func (c *call) failure(e *llm.Error) *refusal {
	r := kindFailure(kindFor(e))
	if e.Code != "" && e.Code != r.exception {
		if named := except(e.Code, ""); named.message != "" {
			r = named
		}
		r.exception = e.Code
	}
	r.status = cmp.Or(e.Status, r.status)
	r.message = cmp.Or(e.Message, r.message)
	r.header = http.Header{}
	setRetryAfter(r.header, e.RetryAfter)
	if e.NoRetry { // a gateway's word, not the service's
		r.header.Set("X-Should-Retry", "false")
	}
	if e.RequestID != "" {
		r.header.Set("X-Amzn-Requestid", e.RequestID)
	}
	return r
}

// kindFailure: the text for a day's tokens and the one for a prompt that is too long are reported.
func kindFailure(k llm.Kind) *refusal {
	switch k {
	case llm.ErrInvalid:
		return except("ValidationException", "")
	case llm.ErrUnsupported:
		return unsupported("toolConfig.toolChoice.any", "")
	case llm.ErrAuth:
		return except("UnrecognizedClientException", "")
	case llm.ErrNotFound:
		return except("ResourceNotFoundException", "")
	case llm.ErrContextTooLong:
		return invalid("Input is too long for requested model.")
	case llm.ErrContentFiltered:
		return byModel("Output blocked by content filtering policy")
	case llm.ErrRateLimited:
		return except("ThrottlingException", "")
	case llm.ErrQuotaExceeded:
		return except("ThrottlingException", "Too many tokens per day, please wait before trying again.")
	case llm.ErrTimeout:
		return except("ModelTimeoutException", "")
	case llm.ErrUnavailable:
		return except("ServiceUnavailableException", "")
	default:
		return except("InternalServerException", "")
	}
}

// kindFor is the Kind of e, or what its status stands for.
func kindFor(e *llm.Error) llm.Kind {
	if e.Kind == "" && e.Status == http.StatusFailedDependency {
		return llm.ErrUnknown
	}
	return cloud.KindOf(e)
}

// setRetryAfter asks for a pause. Whole seconds go into Retry-After, others into the field that AWS's SDKs read
// as milliseconds.
func setRetryAfter(h http.Header, wait time.Duration) {
	switch {
	case wait <= 0:
	case wait%time.Second == 0:
		h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	default:
		h.Set("X-Amz-Retry-After", strconv.FormatInt(max(1, wait.Milliseconds()), 10))
	}
}

// streamed are the exceptions that a stream can carry as such, by their names outside of one. Any other failure
// there is an error frame, which has a code and a text but no body.
var streamed = map[string]string{
	"InternalServerException":     "internalServerException",
	"ModelErrorException":         "modelStreamErrorException",
	"ModelStreamErrorException":   "modelStreamErrorException",
	"ModelTimeoutException":       "modelStreamErrorException",
	"ServiceUnavailableException": "serviceUnavailableException",
	"ThrottlingException":         "throttlingException",
	"ValidationException":         "validationException",
}

// frame is the refusal inside a stream.
func (r *refusal) frame() []byte {
	name, ok := streamed[r.exception]
	if !ok {
		return errorFrame(r.exception, r.message)
	}
	body := map[string]any{"message": r.message}
	if name == "modelStreamErrorException" {
		body["originalMessage"], body["originalStatusCode"] = r.message, r.status
	}
	return Exception(name, marshal(body))
}
