package llm_test

import (
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	ahead := func(d time.Duration) string { return now.Add(d).Format(date) }
	tests := []struct {
		name   string
		header header
		want   time.Duration
	}{
		{"nothing", nil, 0},
		{"other headers", header{"Content-Type": {"text/html"}}, 0},
		{"no values", header{"Retry-After": nil, "Retry-After-Ms": {}}, 0},
		{"seconds", header{"Retry-After": {"6"}}, 6 * time.Second},
		{"blanks", header{"Retry-After": {" 6\t"}}, 6 * time.Second},
		{"fraction", header{"Retry-After": {"0.4"}}, 400 * time.Millisecond},
		{"a fraction that is no binary one", header{"Retry-After": {"1.1"}}, 1100 * time.Millisecond},
		{"days", header{"Retry-After": {"412000"}}, 412000 * time.Second},
		{"lower case", header{"retry-after": {"6"}}, 6 * time.Second},
		{"mixed case", header{"rEtRy-AfTeR": {"6"}}, 6 * time.Second},
		{"ms", header{"Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{"ms with a fraction", header{"retry-after-ms": {"250.5"}}, 250500 * time.Microsecond},
		{"x-ms", header{"x-ms-retry-after-ms": {"250"}}, 250 * time.Millisecond},
		{"amz", header{"X-Amz-Retry-After": {"250"}}, 250 * time.Millisecond},
		{"grpc", header{"grpc-retry-pushback-ms": {"250"}}, 250 * time.Millisecond},

		{"1st", header{"Retry-After-Ms": {"1"}, "X-Ms-Retry-After-Ms": {"2"}, "Retry-After": {"3"}}, time.Millisecond},
		{"2nd", header{"X-Ms-Retry-After-Ms": {"2"}, "Retry-After": {"3"}, "X-Amz-Retry-After": {"4"}}, 2 * time.Millisecond},
		{"3rd", header{"Retry-After": {"3"}, "X-Amz-Retry-After": {"4"}, "Grpc-Retry-Pushback-Ms": {"5"}}, 3 * time.Second},
		{"4th", header{"X-Amz-Retry-After": {"4"}, "Grpc-Retry-Pushback-Ms": {"5"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6"}}, 4 * time.Millisecond},
		{"5th", header{"Grpc-Retry-Pushback-Ms": {"5"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6"}}, 5 * time.Millisecond},

		{"0, then the next (recorded)", header{"retry-after-ms": {"0"}, "retry-after": {"1"}}, time.Second},
		{"0.0", header{"Retry-After-Ms": {"0.0"}, "Retry-After": {"1"}}, time.Second},
		{"negative", header{"Retry-After-Ms": {"-5"}, "Retry-After": {"1"}}, time.Second},
		{"signed", header{"Retry-After-Ms": {"+5"}, "Retry-After": {"1"}}, time.Second},
		{"garbage", header{"Retry-After-Ms": {"soon"}, "Retry-After": {"1"}}, time.Second},
		{"empty", header{"Retry-After-Ms": {""}, "Retry-After": {"1"}}, time.Second},
		{"dot", header{"Retry-After-Ms": {"."}, "Retry-After": {"1"}}, time.Second},
		{"two dots", header{"Retry-After-Ms": {"1.2.3"}, "Retry-After": {"1"}}, time.Second},
		{"unit", header{"Retry-After-Ms": {"5s"}, "Retry-After": {"1"}}, time.Second},
		{"unit inside", header{"Retry-After": {"1m30"}, "X-Amz-Retry-After": {"1"}}, time.Millisecond},
		{"NaN", header{"Retry-After-Ms": {"NaN"}, "Retry-After": {"1"}}, time.Second},
		{"Inf", header{"Retry-After-Ms": {"+Inf"}, "Retry-After": {"1"}}, time.Second},
		{"infinity", header{"Retry-After-Ms": {"infinity"}, "Retry-After": {"1"}}, time.Second},
		{"hex", header{"Retry-After-Ms": {"0x10"}, "Retry-After": {"1"}}, time.Second},
		{"hex float", header{"Retry-After-Ms": {"0x1p4"}, "Retry-After": {"1"}}, time.Second},
		{"exponent", header{"Retry-After-Ms": {"1e3"}, "Retry-After": {"1"}}, time.Second},
		{"huge", header{"Retry-After-Ms": {"99999999999999999999"}, "Retry-After": {"1"}}, time.Second},
		{"1e308", header{"Retry-After-Ms": {"1e308"}, "Retry-After": {"1"}}, time.Second},
		{"below a nanosecond", header{"Retry-After": {"0.0000000001"}}, 0},
		{"a time of the epoch is no wait", header{"Retry-After": {"1767225600"}}, 0},
		{"a year", header{"Retry-After": {"31536000"}}, 365 * 24 * time.Hour},
		{"more than a year", header{"Retry-After": {"31536001"}}, 0},

		{"date", header{"Retry-After": {ahead(7 * time.Second)}}, 7 * time.Second},
		{"date against Date", header{"Retry-After": {ahead(time.Hour + 7*time.Second)}, "date": {ahead(time.Hour)}}, 7 * time.Second},
		{"date against a Date of garbage", header{"Retry-After": {ahead(7 * time.Second)}, "Date": {"today"}}, 7 * time.Second},
		{"date, old form", header{"Retry-After": {now.Add(7 * time.Second).Format("Monday, 02-Jan-06 15:04:05 GMT")}}, 7 * time.Second},
		{"date, oldest form", header{"Retry-After": {now.Add(7 * time.Second).Format(time.ANSIC)}}, 7 * time.Second},
		{"date now", header{"Retry-After": {ahead(0)}}, 0},
		{"date past", header{"Retry-After": {ahead(-time.Hour)}}, 0},
		{"date past, then the next", header{"Retry-After": {ahead(-time.Hour)}, "X-Amz-Retry-After": {"9"}}, 9 * time.Millisecond},
		{"date before Date", header{"Retry-After": {ahead(time.Hour)}, "Date": {ahead(2 * time.Hour)}}, 0},
		{"date of another century", header{"Retry-After": {"Fri, 31 Dec 2199 23:59:59 GMT"}}, 0},
		{"date in ms is no date", header{"Retry-After-Ms": {ahead(time.Second)}}, 0},

		{"reset of requests", header{"x-ratelimit-remaining-requests": {"0"}, "x-ratelimit-reset-requests": {"1m30s"}}, 90 * time.Second},
		{"reset of tokens", header{"X-Ratelimit-Remaining-Tokens": {" 0 "}, "X-Ratelimit-Reset-Tokens": {"4ms"}}, 4 * time.Millisecond},
		{"reset in seconds", header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"12.5"}}, 12500 * time.Millisecond},
		{"the longer reset", header{
			"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"1s"},
			"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"2s"},
		}, 2 * time.Second},
		{"only what is used up", header{
			"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"1s"},
			"X-Ratelimit-Remaining-Tokens": {"99"}, "X-Ratelimit-Reset-Tokens": {"2s"},
		}, time.Second},
		{"remaining above 0", header{"X-Ratelimit-Remaining-Tokens": {"1"}, "X-Ratelimit-Reset-Tokens": {"2s"}}, 0},
		{"remaining unknown", header{"X-Ratelimit-Reset-Tokens": {"2s"}}, 0},
		{"reset of garbage", header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"later"}}, 0},
		{"reset negative", header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"-2s"}}, 0},
		{"reset huge", header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"999999h"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wait, ok := llm.RetryAfter(tt.header, now)
			if wait != tt.want || ok != (tt.want > 0) {
				t.Errorf("got %s %v, want %s", wait, ok, tt.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("Retry-After", "6", "Date", "Sun, 01 Mar 2026 12:00:00 GMT", int64(1772366400))
	f.Add("retry-after-ms", "0x1p1023", "x-ratelimit-remaining-tokens", "0", int64(0))
	f.Add("x-ratelimit-reset-tokens", "9223372036854775807ns", "x-ratelimit-remaining-tokens", "0", int64(-1))
	f.Add("Retry-After", "Sun, 01 Mar 2026 12:00:00 GMT", "Date", "Mon, 01 Jan 0001 00:00:00 GMT", int64(1)<<60)
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, unix int64) {
		wait, ok := llm.RetryAfter(header{name1: {value1}, name2: {value2}}, time.Unix(unix, 0))
		if ok != (wait > 0) || wait < 0 || wait > 365*24*time.Hour {
			t.Errorf("got %s %v", wait, ok)
		}
	})
}
