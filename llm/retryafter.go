package llm

import (
	"cmp"
	"strings"
	"time"
)

// maxWait bounds what is taken for a wait. More is a misunderstanding (a time of the epoch in place of
// seconds) and would keep a target cooled for good.
const maxWait = 365 * 24 * time.Hour

// RetryAfter reads how long a server asks to be left alone. It looks at, in this order: retry-after-ms,
// x-ms-retry-after-ms (milliseconds), Retry-After (seconds, fractions allowed, or an HTTP date, compared with
// the response's Date if there is one, else with now; RFC 9110 section 10.2.3), X-Amz-Retry-After
// (milliseconds), grpc-retry-pushback-ms, and the x-ratelimit-reset-* of whichever x-ratelimit-remaining-*
// is 0. A value of 0 or less, of more than a year, or one that cannot be read, is no hint: the next is looked
// at. Header names are found in any case. ok is false when there is no hint.
func RetryAfter(header map[string][]string, now time.Time) (wait time.Duration, ok bool) {
	wait = retryAfter(header, 0, now)
	return wait, wait > 0
}

// retryAfter is RetryAfter with a google.rpc.RetryInfo from the body (0: none) in its place of the order.
func retryAfter(header map[string][]string, retryInfo time.Duration, now time.Time) time.Duration {
	value := headerValue(header, "Retry-After")
	return cmp.Or(
		number(headerValue(header, "Retry-After-Ms"), "ms"),
		number(headerValue(header, "X-Ms-Retry-After-Ms"), "ms"),
		number(value, "s"),
		untilDate(value, headerValue(header, "Date"), now),
		number(headerValue(header, "X-Amz-Retry-After"), "ms"),
		retryInfo,
		number(headerValue(header, "Grpc-Retry-Pushback-Ms"), "ms"),
		resetWait(header),
	)
}

// resetWait is the longest x-ratelimit-reset-* among the limits that are used up.
func resetWait(header map[string][]string) (wait time.Duration) {
	for _, what := range []string{"Requests", "Tokens"} {
		if strings.TrimSpace(headerValue(header, "X-Ratelimit-Remaining-"+what)) == "0" {
			value := strings.TrimSpace(headerValue(header, "X-Ratelimit-Reset-"+what))
			wait = max(wait, cmp.Or(number(value, "s"), length(value))) // "12", "1m30s", "4ms"
		}
	}
	return wait
}

// number reads a plain decimal number of units; 0 if it is none. No exponents, no hexadecimal digits, no NaN.
func number(value, unit string) time.Duration {
	value = strings.TrimSpace(value)
	if strings.Trim(value, "0123456789.") != "" {
		return 0
	}
	return length(value + unit)
}

// length reads a duration as Go writes it; 0 if it is none, not above 0, or above maxWait.
func length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return within(d)
}

func within(d time.Duration) time.Duration {
	if d <= 0 || d > maxWait {
		return 0
	}
	return d
}

func untilDate(value, date string, now time.Time) time.Duration {
	at, ok := httpDate(value)
	if !ok {
		return 0
	}
	if sent, ok := httpDate(date); ok {
		now = sent
	}
	return within(at.Sub(now))
}

// httpDate reads the three forms of RFC 9110 section 5.6.7, as http.ParseTime does: net/http itself would
// make every program that uses this package several megabytes larger.
func httpDate(value string) (time.Time, bool) {
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(form, strings.TrimSpace(value)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// headerValue is the first value of a header, "" if there is none.
func headerValue(header map[string][]string, canonical string) string {
	if v := headerValues(header, canonical); len(v) > 0 {
		return v[0]
	}
	return ""
}

// headerValues finds a header under any spelling of its name: canonical as net/http has it, lower case as
// HTTP/2 and gRPC metadata have it, or anything else.
func headerValues(header map[string][]string, canonical string) []string {
	if v := header[canonical]; len(v) > 0 {
		return v
	}
	if v := header[strings.ToLower(canonical)]; len(v) > 0 {
		return v
	}
	for name, v := range header {
		if len(v) > 0 && strings.EqualFold(name, canonical) {
			return v
		}
	}
	return nil
}
