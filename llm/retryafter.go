package llm

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds what a hint can ask for, so that sums of times never overflow. No policy waits that long.
const maxWait = 365 * 24 * time.Hour

// RetryAfter reads how long a server asks to be left alone. It looks at, in this order: retry-after-ms,
// x-ms-retry-after-ms (milliseconds), Retry-After (seconds, fractions allowed, or an HTTP date, compared with
// the response's Date if there is one, else with now; RFC 9110 section 10.2.3), X-Amz-Retry-After
// (milliseconds), grpc-retry-pushback-ms, and the x-ratelimit-reset-* of whichever x-ratelimit-remaining-*
// is 0. A value of 0 or less, or one that cannot be read, is no hint: the next is looked at. Header names
// are found in any case. ok is false when there is no hint.
func RetryAfter(header map[string][]string, now time.Time) (wait time.Duration, ok bool) {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if wait = number(headerValue(header, name), time.Millisecond); wait > 0 {
			return wait, true
		}
	}
	value := headerValue(header, "Retry-After")
	if wait = number(value, time.Second); wait > 0 {
		return wait, true
	}
	if wait = untilDate(value, headerValue(header, "Date"), now); wait > 0 {
		return wait, true
	}
	for _, name := range []string{"X-Amz-Retry-After", "Grpc-Retry-Pushback-Ms"} {
		if wait = number(headerValue(header, name), time.Millisecond); wait > 0 {
			return wait, true
		}
	}
	return resetWait(header)
}

// resetWait is the longest x-ratelimit-reset-* among the limits that are used up.
func resetWait(header map[string][]string) (wait time.Duration, ok bool) {
	for _, what := range []string{"Requests", "Tokens"} {
		if strings.TrimSpace(headerValue(header, "X-Ratelimit-Remaining-"+what)) != "0" {
			continue
		}
		wait = max(wait, resetDuration(headerValue(header, "X-Ratelimit-Reset-"+what)))
	}
	return wait, wait > 0
}

// resetDuration reads "1m30s", "4ms" or a plain number of seconds; 0 if it cannot.
func resetDuration(value string) time.Duration {
	if wait := number(value, time.Second); wait > 0 {
		return wait
	}
	d, err := time.ParseDuration(strings.TrimSpace(value))
	if err != nil || d <= 0 {
		return 0
	}
	return min(d, maxWait)
}

// number reads a decimal number of units; 0 if it is none, or not above 0. The result is rounded up to the
// nanosecond, for a wait is a floor.
func number(value string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return 0
	}
	return time.Duration(math.Ceil(min(f*float64(unit), float64(maxWait))))
}

func untilDate(value, date string, now time.Time) time.Duration {
	at, ok := httpDate(value)
	if !ok {
		return 0
	}
	if sent, ok := httpDate(date); ok {
		now = sent
	}
	return min(at.Sub(now), maxWait)
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

// headerValue is the first value of a header under any spelling of its name: canonical as net/http has it,
// lower case as HTTP/2 and gRPC metadata have it, or anything else.
func headerValue(header map[string][]string, canonical string) string {
	if v := header[canonical]; len(v) > 0 {
		return v[0]
	}
	for name, v := range header {
		if len(v) > 0 && strings.EqualFold(name, canonical) {
			return v[0]
		}
	}
	return ""
}
