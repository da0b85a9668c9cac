package deadline_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// limited is a context with a limit that its program has chosen.
type limited struct {
	context.Context
	caller context.Context
}

func (l limited) Value(key any) any {
	if key == (deadline.CallerKey{}) {
		return l.caller
	}
	return l.Context.Value(key)
}

// limit gives ctx such a limit.
func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithTimeout(ctx, d)
	return limited{inner, ctx}, cancel
}

// TestAwaited: limits of the program's own are told to nobody, and shorten what a caller's deadline leaves.
func TestAwaited(t *testing.T) {
	t.Parallel()
	type value struct{}
	tests := []struct {
		name      string
		own       time.Duration // the caller's deadline; 0: none
		execution time.Duration // 0: none
		limits    []time.Duration
		inside    time.Duration // a deadline under the limits; 0: none
		begun     time.Duration // an execution begun under the limits; 0: none
		want      string        // what Set writes
	}{
		{"nothing", 0, 0, nil, 0, 0, ""},
		{"a limit", 0, 0, []time.Duration{30 * s}, 0, 0, ""},
		{"a limit in a limit", 0, 0, []time.Duration{60 * s, 30 * s}, 0, 0, ""},
		{"a deadline under a limit", 0, 0, []time.Duration{30 * s}, 10 * s, 0, ""},
		{"a caller's deadline", 20 * s, 0, nil, 0, 0, "20000"},
		{"an execution", 0, 20 * s, nil, 0, 0, "20000"},
		{"a limit within a caller's deadline", 60 * s, 0, []time.Duration{30 * s}, 0, 0, "30000"},
		{"a limit within an execution", 0, 60 * s, []time.Duration{30 * s}, 0, 0, "30000"},
		{"a limit beyond a caller's deadline", 20 * s, 0, []time.Duration{30 * s}, 0, 0, "20000"},
		{"limits within a caller's deadline", 60 * s, 0, []time.Duration{30 * s, 10 * s}, 0, 0, "10000"},
		{"a deadline under a limit within a caller's deadline", 60 * s, 0, []time.Duration{30 * s}, 10 * s, 0, "10000"},
		{"an execution under a limit", 0, 0, []time.Duration{30 * s}, 0, 10 * s, "10000"},
		{"a longer one, which the limit ends", 0, 0, []time.Duration{60 * s, 30 * s}, 0, 45 * s, "30000"},
		{"one under a limit under an execution", 0, 60 * s, []time.Duration{30 * s}, 0, 10 * s, "10000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := within(t.Context(), tt.own)
				defer stop()
				if tt.execution > 0 {
					ctx, stop = deadline.With(ctx, tt.execution, nil)
					defer stop()
				}
				for _, d := range tt.limits {
					ctx, stop = limit(context.WithValue(ctx, value{}, 1), d) //nolint:fatcontext // nested on purpose
					defer stop()
				}
				ctx, stop = within(ctx, tt.inside)
				defer stop()
				if tt.begun > 0 {
					ctx, stop = deadline.With(ctx, tt.begun, nil)
					defer stop()
				}
				equal(t, "Awaited", deadline.Awaited(ctx), tt.want != "")

				header := make(http.Header)
				(*deadline.Header)(nil).Set(ctx, header)
				equal(t, "header", header.Get(name), tt.want)

				req := get(ctx, t, "http://callee/")
				var sent *http.Request
				rt := deadline.Transport(roundTrip(func(req *http.Request) (*http.Response, error) {
					sent = req
					return answered(req)
				}), nil)
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				equal(t, "header sent", sent.Header.Get(name), tt.want)
				equal(t, "the request is the caller's own", sent == req, tt.want == "")
			})
		})
	}
}

// TestAwaitedDetached: work that no deadline reaches is awaited by nobody, although it began under a limit of a call
// with one; what stands in its headers stays.
func TestAwaitedDetached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 60*s)
		defer stop()
		ctx, cancel := limit(ctx, 30*s)
		defer cancel()
		ctx = context.WithoutCancel(ctx)
		equal(t, "Awaited", deadline.Awaited(ctx), false)
		header := http.Header{name: {"7"}}
		(*deadline.Header)(nil).Set(ctx, header)
		equal(t, "header", header.Get(name), "7")
	})
}
