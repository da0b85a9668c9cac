package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
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
	e := &Error{Status: status, RequestID: requestID(header)}
	b := parseErrorBody(body)
	e.Code, e.Message, e.Filtered = codeWord(b.code), cut(b.message, maxMessage), b.filtered
	e.Kind = errorKind(b.status(status), &b, headerValue(header, "X-Amzn-Errortype"))
	if e.Code == "" {
		e.Code = codeWord(exceptionName(headerValue(header, "X-Amzn-Errortype")))
	}
	e.RetryAfter = b.retryDelay
	if wait, ok := RetryAfter(header, time.Now()); ok {
		e.RetryAfter = wait
	}
	obeyShouldRetry(e, headerValue(header, "X-Should-Retry"))
	if strings.HasPrefix(strings.TrimSpace(headerValue(header, "Grpc-Retry-Pushback-Ms")), "-") {
		e.NoRetry = true // gRFC A6: a negative pushback means do not retry
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

func requestID(header map[string][]string) string {
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "X-Ms-Request-Id", "X-Amzn-Requestid"} {
		if v := headerValue(header, name); v != "" {
			return clean(v, 128)
		}
	}
	return ""
}

// errorBody is what the known forms of error body have in common.
type errorBody struct {
	code, typ, message string
	innerCode          string
	ownStatus          int // a status inside the body
	filtered           []string
	retryDelay         time.Duration
	reasons            []string // Google's ErrorInfo reasons, AWS's __type
}

// status is the status to judge by: the body's own if the response claims success.
func (b *errorBody) status(http int) int {
	if http >= 300 {
		return http
	}
	if b.ownStatus != 0 {
		return b.ownStatus
	}
	if n, err := strconv.Atoi(b.code); err == nil && n >= 300 && n < 600 {
		return n
	}
	return 0
}

func parseErrorBody(body []byte) (b errorBody) {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return b
		}
		body = list[0]
	}
	outer, ok := object(body)
	if !ok {
		return b
	}
	fields := outer
	if inner, ok := object(outer["error"]); ok {
		fields = inner
	} else if text := scalar(outer["error"]); text != "" {
		b.message = text
	}
	b.read(fields)
	return b
}

func (b *errorBody) read(fields map[string]json.RawMessage) {
	b.code = first(scalar(fields["code"]), exceptionName(scalar(fields["__type"])))
	b.typ = first(scalar(fields["type"]), scalar(fields["status"]))
	b.message = first(scalar(fields["message"]), scalar(fields["Message"]), b.message, scalar(fields["detail"]))
	for _, raw := range []string{scalar(fields["status"]), scalar(fields["statusCode"]), b.code, scalar(fields["type"])} {
		if n, err := strconv.Atoi(raw); err == nil && n >= 300 && n < 600 && b.ownStatus == 0 {
			b.ownStatus = n
		}
	}
	for _, name := range []string{"innererror", "inner_error"} {
		if inner, ok := object(fields[name]); ok {
			b.innerCode = scalar(inner["code"])
			b.filtered = append(b.filtered, filteredCategories(inner)...)
		}
	}
	b.filtered = append(b.filtered, filteredCategories(fields)...)
	b.readDetails(fields["details"])
	if b.code == "" {
		b.code = b.typ
	}
}

// readDetails reads google.rpc details: RetryInfo and ErrorInfo.
func (b *errorBody) readDetails(raw json.RawMessage) {
	var details []json.RawMessage
	if json.Unmarshal(raw, &details) != nil {
		return
	}
	for _, d := range details {
		fields, ok := object(d)
		if !ok {
			continue
		}
		if delay, err := time.ParseDuration(scalar(fields["retryDelay"])); err == nil && delay > 0 {
			b.retryDelay = min(delay, maxWait)
		}
		if reason := scalar(fields["reason"]); reason != "" {
			b.reasons = append(b.reasons, reason)
		}
	}
}

// filteredCategories names the categories of an Azure content_filter_result(s) that were filtered.
func filteredCategories(fields map[string]json.RawMessage) []string {
	var names []string
	for _, key := range []string{"content_filter_result", "content_filter_results"} {
		categories, _ := object(fields[key])
		for _, name := range slices.Sorted(maps.Keys(categories)) {
			var c struct {
				Filtered bool
				Severity string
			}
			if json.Unmarshal(categories[name], &c) != nil || !c.Filtered {
				continue
			}
			word := clean(name, 40)
			if c.Severity != "" {
				word += " (" + clean(c.Severity, 20) + ")"
			}
			names = append(names, word)
		}
	}
	return names
}

// errorKind judges by what the body says first and by the status after that.
func errorKind(status int, b *errorBody, exception string) Kind {
	words := strings.ToLower(strings.Join(append(b.reasons,
		b.code, b.typ, b.innerCode, exceptionName(exception)), " "))
	message := strings.ToLower(b.message)
	switch {
	case has(words, "content_filter", "responsibleaipolicyviolation", "content_policy_violation"):
		return ErrContentFiltered
	case tooLong(status, words, message):
		return ErrContextTooLong
	case has(words, "insufficient_quota", "credit_balance", "spend_limit", "usage_limit_exceeded",
		"servicequotaexceeded", "billing", "quota_exceeded") || quotaMessage(status, message):
		return ErrQuotaExceeded
	case has(words, "api_key_invalid", "invalid_api_key", "expiredtoken", "unrecognizedclient",
		"accessdenied", "incompletesignature", "invalidsignature", "unauthenticated", "permission_denied"):
		return ErrAuth
	case has(words, "deploymentnotfound", "model_not_found", "resourcenotfound"):
		return ErrNotFound
	case has(words, "throttling", "ratelimitreached", "rate_limit_exceeded", "toomanyrequests", "resource_exhausted"):
		return ErrRateLimited
	}
	return statusKind(status)
}

// tooLong recognises a prompt that exceeds the window. Only OpenAI gives it a code of its own; the others
// say it in words, with a 400 or 413.
func tooLong(status int, words, message string) bool {
	if has(words, "context_length_exceeded", "request_too_large", "string_above_max_length") {
		return true
	}
	if status != 400 && status != 413 && status != 0 {
		return false
	}
	return status == 413 || has(message, "maximum context length", "context window", "prompt is too long",
		"input is too long", "too many input tokens", "input token count", "exceeds the maximum number of tokens",
		"reduce the length of the messages")
}

// quotaMessage recognises an allowance that is used up, where gateways say it only in words.
func quotaMessage(status int, message string) bool {
	return status == 403 && has(message, "quota") ||
		status == 429 && has(message, "exceeded your current quota", "per day", "monthly")
}

func statusKind(status int) Kind {
	switch status {
	case 400, 405, 406, 411, 415, 416, 422:
		return ErrInvalid
	case 401, 403, 407:
		return ErrAuth
	case 402:
		return ErrQuotaExceeded
	case 404, 410, 421:
		return ErrNotFound
	case 408, 504:
		return ErrTimeout
	case 413, 414:
		return ErrContextTooLong
	case 429:
		return ErrRateLimited
	}
	switch {
	case status >= 300 && status < 400:
		return ErrNotFound // a redirect is never followed to another host: the address is wrong
	case status >= 400 && status < 409, status > 417 && status < 424, status == 451:
		return ErrInvalid
	default: // 409, 424, 425, 5xx, and an error inside a 200 that says no more
		return ErrUnavailable
	}
}

func has(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// scalar reads a JSON string or number as text, "" for anything else.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// exceptionName is AWS's name of an error without namespace and link:
// "com.amazonaws…#ThrottlingException:http://…" is "ThrottlingException".
func exceptionName(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if i := strings.LastIndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// codeWord keeps a code only if it is a word: what looks like a sentence could be free text, and a code is
// logged.
func codeWord(s string) string {
	if s == "" || len(s) > 64 {
		return ""
	}
	for _, r := range s {
		if r <= ' ' || r >= 0x7f {
			return ""
		}
	}
	return s
}
