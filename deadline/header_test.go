package deadline_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// TestHeaderSet: what is left less the hop, at most Max, floored, lowered and never raised.
func TestHeaderSet(t *testing.T) {
	t.Parallel()
	gateway := &deadline.Header{Name: "X-UiPath-LLMGateway-TimeoutSeconds", Unit: s, Max: 895 * s}
	seconds := &deadline.Header{Unit: s}
	tests := []struct {
		name  string
		h     *deadline.Header
		left  time.Duration
		there []string
		want  []string
	}{
		{"nil is milliseconds", nil, 42*s + 700*ms, nil, []string{"42700"}},
		{"the zero value too", &deadline.Header{}, 42*s + 700*ms, nil, []string{"42700"}},
		{"floored to the millisecond", nil, 1999999 * time.Nanosecond, nil, []string{"1"}},
		{"configured 895 s, remaining 42.7 s", gateway, 42*s + 700*ms, nil, []string{"42"}},
		{"just below a unit's edge", gateway, 43*s - 1, nil, []string{"42"}},
		{"remaining above configured", gateway, 1000 * s, nil, []string{"895"}},
		{"remaining as configured", gateway, 895 * s, nil, []string{"895"}},
		{"one unit", gateway, s, nil, []string{"1"}},
		{"below one unit", gateway, s - 1, nil, nil},
		{"below one unit, what is there goes", gateway, s - 1, []string{"895"}, nil},
		{"no time left", nil, 0, []string{"895"}, nil},
		{"what is there is lowered", seconds, 42*s + 700*ms, []string{"895"}, []string{"42"}},
		{"and not raised", seconds, 42*s + 700*ms, []string{"7"}, []string{"7"}},
		{"not raised to Max", gateway, 1000 * s, []string{"7"}, []string{"7"}},
		{"lowered to Max", gateway, 1000 * s, []string{"900"}, []string{"895"}},
		{"nothing is raised from zero", seconds, 10 * s, []string{"0"}, []string{"0"}},
		{"of several the lowest", seconds, 10 * s, []string{"7", "5", "80"}, []string{"5"}},
		{"what cannot be read is replaced", seconds, 10 * s, []string{"soon"}, []string{"10"}},
		{"and does not hide the others", seconds, 10 * s, []string{"-1", "8", ""}, []string{"8"}},
		{"too large is replaced", seconds, 10 * s, []string{"99999999999999999999"}, []string{"10"}},
		{"the hop is taken off", &deadline.Header{Hop: 50 * ms}, s, nil, []string{"950"}},
		{"before the floor", &deadline.Header{Unit: s, Hop: 50 * ms}, 10 * s, nil, []string{"9"}},
		{"off what is left, not off Max", &deadline.Header{Hop: 50 * ms, Max: s}, 2 * s, nil, []string{"1000"}},
		{"nothing but the hop is left", &deadline.Header{Hop: s}, s, nil, nil},
		{"less than the hop is left", &deadline.Header{Hop: 2 * s}, s, nil, nil},
		{"a hop below zero adds nothing", &deadline.Header{Hop: -s}, s, nil, []string{"1000"}},
		{"a Max below zero is none", &deadline.Header{Max: -s}, s, nil, []string{"1000"}},
		{"a unit below zero is a millisecond", &deadline.Header{Unit: -s}, s, nil, []string{"1000"}},
		{"any unit", &deadline.Header{Unit: 1500 * ms}, 10 * s, nil, []string{"6"}},
		{"nanoseconds", &deadline.Header{Unit: 1}, 10 * s, nil, []string{"10000000000"}},
		{"the longest", &deadline.Header{Unit: 1}, math.MaxInt64, nil, []string{"9223372036854775807"}},
	}
	contexts := map[string]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
		"an execution": func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
			return deadline.With(ctx, d, nil)
		},
		"a deadline of ctx's own": context.WithTimeout,
	}
	for _, tt := range tests {
		for what, open := range contexts {
			t.Run(tt.name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := open(t.Context(), tt.left)
					defer cancel()
					name := "X-Deadline-Ms"
					if tt.h != nil && tt.h.Name != "" {
						name = tt.h.Name
					}
					header := http.Header{"Other": {"1"}}
					for _, value := range tt.there {
						header.Add(name, value)
					}
					tt.h.Set(ctx, header)
					if got := header.Values(name); !slices.Equal(got, tt.want) {
						t.Errorf("header is %q, want %q", got, tt.want)
					}
					equal(t, "another header", header.Get("Other"), "1")
				})
			})
		}
	}
}

// TestHeaderSpellings: a map may hold a name in any case, and on the wire all of them are one header.
func TestHeaderSpellings(t *testing.T) {
	t.Parallel()
	h := &deadline.Header{Name: "X-UiPath-LLMGateway-TimeoutSeconds", Unit: s}
	const canonical = "X-Uipath-Llmgateway-Timeoutseconds"
	tests := []struct {
		name  string
		left  time.Duration
		there http.Header
		want  string // after Set; "": the header is gone
		got   time.Duration
		err   string // of Get, before
	}{
		{"as the caller spells it", 10 * s, http.Header{h.Name: {"7"}}, "7", 7 * s, ""},
		{"lowered", 10 * s, http.Header{h.Name: {"895"}}, "10", 895 * s, ""},
		{"in lower case", 10 * s, http.Header{strings.ToLower(h.Name): {"7"}}, "7", 7 * s, ""},
		{"twice the same", 10 * s, http.Header{strings.ToLower(h.Name): {"7"}, canonical: {"7"}}, "7", 7 * s, ""},
		{"of several the lowest", 10 * s, http.Header{h.Name: {"8"}, strings.ToLower(h.Name): {"5"}, canonical: {"7"}}, "5", 0, "more than once"},
		{"garbage", 10 * s, http.Header{h.Name: {"soon"}}, "10", 0, "digits only"},
		{"below one unit", s - 1, http.Header{h.Name: {"895"}, canonical: {"895"}}, "", 895 * s, ""},
		{"a longer name is another one", 10 * s, http.Header{h.Name + "-Too": {"7"}}, "10", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := deadline.With(t.Context(), tt.left, nil)
				defer cancel()
				got, ok, err := h.Get(tt.there)
				equal(t, "Get", got, tt.got)
				equal(t, "Get's ok", ok, tt.got > 0)
				if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error is %v, want %q", err, tt.err)
				}
				h.Set(ctx, tt.there)
				var values []string
				for key, more := range tt.there {
					if strings.EqualFold(key, h.Name) {
						values = append(values, more...)
					}
				}
				equal(t, "all spellings", strings.Join(values, "|"), tt.want)
			})
		})
	}
}

func TestHeaderSetWithoutDeadline(t *testing.T) {
	t.Parallel()
	header := http.Header{"X-Deadline-Ms": {"7", "soon"}}
	(*deadline.Header)(nil).Set(t.Context(), header)
	if got := header["X-Deadline-Ms"]; !slices.Equal(got, []string{"7", "soon"}) || len(header) != 1 {
		t.Errorf("header is %v", header)
	}
}

// TestHeaderSetNearest: the nearer of the execution's end and ctx's own deadline counts.
func TestHeaderSetNearest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, nil)
		defer cancel()
		near, stop := context.WithTimeout(ctx, 5*s)
		defer stop()
		for ctx, want := range map[context.Context]string{ctx: "60000", near: "5000", context.WithoutCancel(near): "60000"} {
			header := make(http.Header)
			(*deadline.Header)(nil).Set(ctx, header)
			equal(t, "header", header.Get("X-Deadline-Ms"), want)
		}
	})
}

func TestHeaderGet(t *testing.T) {
	t.Parallel()
	seconds := &deadline.Header{Name: "x-limit", Unit: s}
	tests := []struct {
		name  string
		h     *deadline.Header
		there []string
		left  time.Duration
		ok    bool
		want  string // of the error
	}{
		{"absent", nil, nil, 0, false, ""},
		{"milliseconds", nil, []string{"42700"}, 42*s + 700*ms, true, ""},
		{"seconds", seconds, []string{"42"}, 42 * s, true, ""},
		{"leading zeros", seconds, []string{"007"}, 7 * s, true, ""},
		{"equal repeats", seconds, []string{"7", "7"}, 7 * s, true, ""},
		{"at most Max", &deadline.Header{Max: 5 * s}, []string{"6000"}, 5 * s, true, ""},
		{"below Max", &deadline.Header{Max: 5 * s}, []string{"4000"}, 4 * s, true, ""},
		{"no hop is taken off", &deadline.Header{Hop: s}, []string{"4000"}, 4 * s, true, ""},
		{"the largest", &deadline.Header{Unit: 1}, []string{"9223372036854775807"}, math.MaxInt64, true, ""},
		{"the largest of seconds", seconds, []string{"9223372036"}, 9223372036 * s, true, ""},
		{"overflow of the unit", seconds, []string{"9223372037"}, 0, false, "deadline: header x-limit: the number of 10 digits is too large (send at most 9223372036, in units of 1s)"},
		{"overflow", nil, []string{"9223372036854775808"}, 0, false, "too large"},
		{"long overflow", nil, []string{strings.Repeat("9", 1000)}, 0, false, "the number of 1000 digits is too large"},
		{"zero", nil, []string{"0"}, 0, false, "header X-Deadline-Ms: no time is left"},
		{"zeros", nil, []string{"000"}, 0, false, "no time is left"},
		{"empty", nil, []string{""}, 0, false, "want digits only, got 0 bytes"},
		{"a minus", nil, []string{"-5"}, 0, false, "want digits only, got 2 bytes that are something else (send a whole number, in units of 1ms)"},
		{"a plus", nil, []string{"+5"}, 0, false, "digits only"},
		{"a fraction", nil, []string{"5.5"}, 0, false, "digits only"},
		{"an exponent", nil, []string{"5e3"}, 0, false, "digits only"},
		{"hexadecimal", nil, []string{"0x5"}, 0, false, "digits only"},
		{"an underscore", nil, []string{"5_0"}, 0, false, "digits only"},
		{"a unit", nil, []string{"5s"}, 0, false, "digits only"},
		{"a space inside", nil, []string{"5 0"}, 0, false, "digits only"},
		{"a space before", nil, []string{" 5"}, 0, false, "digits only"},
		{"a list", nil, []string{"5,5"}, 0, false, "digits only"},
		{"digits of another script", nil, []string{"٣٠"}, 0, false, "digits only"},
		{"different repeats", nil, []string{"5", "6"}, 0, false, "more than once, with different values (send one)"},
		{"garbage repeats", nil, []string{"5", "soon"}, 0, false, "more than once"},
		{"garbage first", nil, []string{"soon", "5"}, 0, false, "digits only"},
		{"zero and more", nil, []string{"0", "5"}, 0, false, "no time is left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := make(http.Header)
			name := "X-Deadline-Ms"
			if tt.h != nil && tt.h.Name != "" {
				name = tt.h.Name
			}
			for _, value := range tt.there {
				header.Add(name, value)
			}
			left, ok, err := tt.h.Get(header)
			equal(t, "left", left, tt.left)
			equal(t, "ok", ok, tt.ok)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			equal(t, "is DeadlineExceeded", errors.Is(err, context.DeadlineExceeded), strings.Contains(tt.want, "no time"))
		})
	}
}
