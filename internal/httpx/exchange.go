package httpx

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
)

// Exchange is what one SDK call did on the wire. Its methods may be called at
// any time by any goroutine, and on nil. If the call makes several requests,
// they tell of the last one, except Sent, which tells of all.
type Exchange struct {
	sent atomic.Bool
	cut  atomic.Bool

	mu          sync.Mutex
	status      int
	header      http.Header
	errorBody   []byte
	streamError []byte
	redirect    string
}

type exchangeKey struct{}

// WithExchange returns a context for one SDK call and the record of that call.
// The call must be made through a [Client].
func WithExchange(ctx context.Context) (context.Context, *Exchange) {
	x := new(Exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

func exchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Status returns the HTTP status, 0 if no response has arrived.
func (x *Exchange) Status() int {
	if x == nil {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status
}

// Header returns the response headers, nil if no response has arrived. They
// belong to the response: the caller must not change them.
func (x *Exchange) Header() http.Header {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.header
}

// ErrorBody returns the body of a response outside 2xx, as far as it was read:
// one whole JSON value if it began with one, else at most 64 KiB of what came in
// time. The caller must not change it.
func (x *Exchange) ErrorBody() []byte {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.errorBody
}

// StreamError returns the error that an event stream reported, as JSON that
// begins {"error":, or nil. It is kept even if the SDK could not read it. The
// caller must not change it.
func (x *Exchange) StreamError() []byte {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.streamError
}

// Redirect returns the target of a redirect that was not followed, or "". The
// SDK got the redirect itself as its response, and may have taken it for a
// success.
func (x *Exchange) Redirect() string {
	if x == nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.redirect
}

// Sent reports whether something of a request body may have left this process.
// It is false only if that is impossible.
func (x *Exchange) Sent() bool { return x != nil && x.sent.Load() }

// Cut reports whether a 2xx body stopped before its end: the read failed other
// than by the context of the call, or an event stream ended inside an event.
func (x *Exchange) Cut() bool { return x != nil && x.cut.Load() }

// begin makes room for the next request.
func (x *Exchange) begin() {
	if x == nil {
		return
	}
	x.cut.Store(false)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.header = 0, nil
	x.errorBody, x.streamError, x.redirect = nil, nil, ""
}

func (x *Exchange) markSent() {
	if x != nil {
		x.sent.Store(true)
	}
}

func (x *Exchange) markCut() {
	if x != nil {
		x.cut.Store(true)
	}
}

func (x *Exchange) answered(resp *http.Response) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode/100 == 3 {
		// If the client follows it, the next request wipes this out.
		x.redirect = resp.Header.Get("Location")
		if to, err := resp.Location(); err == nil {
			x.redirect = to.String()
		}
	}
}

func (x *Exchange) failed(body []byte) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.errorBody = body
}

func (x *Exchange) reported(payload []byte) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.streamError = payload
}
