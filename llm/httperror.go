package llm

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// HTTPError is the mapping that HTTP providers start from: the [*Error] for a response that is an error,
// with Kind, Status, Code, Message, RequestID, RetryAfter, NoRetry and Filtered. It reads the error bodies
// of OpenAI and Azure, of AWS, of Google (alone or as the first element of an array), and of gateways in
// front of them; any other body (HTML, empty, cut) leaves the Kind to the status. An error inside a 200 is
// mapped by its own code. The caller sets Err and what only it knows. It never returns nil.
func HTTPError(status int, header map[string][]string, body []byte) *Error {
	b := parseErrorBody(body)
	exception := exceptionName(headerValue(header, "X-Amzn-Errortype"))
	if exception != "" {
		b.words = append(b.words, exception)
	}
	e := &Error{
		Kind:       b.kind(status),
		Status:     status,
		Code:       b.codeOr(exception),
		RequestID:  requestID(header),
		Message:    cut(b.message, maxMessage),
		Filtered:   b.filtered,
		RetryAfter: retryAfter(header, b.retryDelay, time.Now()),
	}
	obeyShouldRetry(e, headerValue(header, "X-Should-Retry"))
	if forbidsRetry(headerValues(header, "Grpc-Retry-Pushback-Ms")) {
		e.NoRetry = true
	}
	return e
}

// obeyShouldRetry follows the provider's own word over the status, as OpenAI's SDKs do.
func obeyShouldRetry(e *Error, value string) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "false":
		e.NoRetry = true
	case "true":
		if e.Kind == ErrInvalid || e.Kind == ErrUnknown {
			e.Kind = ErrUnavailable
		}
	}
}

// forbidsRetry reads grpc-retry-pushback-ms as gRFC A6 has it: a negative value, one that is no number, or
// more than one value mean that nobody shall retry.
func forbidsRetry(values []string) bool {
	if len(values) != 1 {
		return len(values) > 1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(values[0]), 10, 64)
	return err != nil || n < 0 || n > math.MaxInt32
}

func requestID(header map[string][]string) string {
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "X-Amzn-Requestid"} {
		if v := headerValue(header, name); v != "" {
			return clean(v, 128)
		}
	}
	return ""
}
