package azure

import (
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// rateLimit reads x-ratelimit-*. Reset is that of the limit of which the smaller share is left.
func rateLimit(h http.Header) llm.RateLimit {
	requests, gotRequests := limitOf(h, "Requests")
	tokens, gotTokens := limitOf(h, "Tokens")
	if !gotRequests && !gotTokens {
		return llm.RateLimit{}
	}
	r := llm.RateLimit{
		RemainingRequests: requests.remaining, RemainingTokens: tokens.remaining,
		Reset: requests.reset, Reported: true,
	}
	if !gotRequests || gotTokens && tokens.share() < requests.share() {
		r.Reset = tokens.reset
	}
	return r
}

type limit struct {
	remaining, total int64
	reset            time.Duration
}

func (l limit) share() float64 { return float64(l.remaining) / float64(max(l.total, 1)) }

func limitOf(h http.Header, what string) (limit, bool) {
	remaining, err := strconv.ParseInt(h.Get("X-Ratelimit-Remaining-"+what), 10, 64)
	if err != nil {
		return limit{}, false
	}
	total, _ := strconv.ParseInt(h.Get("X-Ratelimit-Limit-"+what), 10, 64)
	unit := time.Second
	if h.Get("X-Ratelimit-Renewalperiod-"+what) != "" {
		// Azure, whose plain numbers are milliseconds: recorded is 500 after one request of 120 a minute.
		unit = time.Millisecond
	}
	return limit{remaining: max(remaining, 0), total: total, reset: reset(h.Get("X-Ratelimit-Reset-"+what), unit)}, true
}

// reset reads "1m30s", "120ms" or a plain number of units.
func reset(value string, unit time.Duration) time.Duration {
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < 1e6 {
		return time.Duration(n * float64(unit))
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0
	}
	return d
}
