package deadline

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// transport is what Transport returns.
type transport struct {
	base   http.RoundTripper
	header Header
}

// Transport returns a RoundTripper that tells the callee of each request how long it may take, by [Header.Set]
// from the request's context, and sends it with base. The caller's request is not changed: the header goes on
// a copy, and a request without any deadline goes on as it is. A retry of the same request is told what is
// left then. A nil base is http.DefaultTransport, a nil h the default Header; h is copied.
func Transport(base http.RoundTripper, h *Header) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, header: h.spelled()}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if Awaited(req.Context()) {
		req = req.Clone(req.Context())
		if req.Header == nil {
			req.Header = make(http.Header)
		}
		t.header.Set(req.Context(), req.Header)
	}
	return t.base.RoundTrip(req)
}

// CloseIdleConnections is for http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// Middleware bounds each request that next serves by what its caller waits: it makes an execution of the
// request's context that ends after the time received in the header, at most h.Max, or at the context's own
// deadline if that is sooner. Requests without the header are bounded by h.Max and that deadline, if there
// are any. Nothing is taken off for the hop: the sender did that. The context is canceled when next returns.
//
// A header that [Header.Get] refuses is answered with 400. When no time is left, because 0 was received or
// because an own deadline or an execution around the server is over, or about to be, the answer is 504. Both
// have a small JSON body with a code, for 504 that of an [ExceededError], and next is not called. When the
// time ends while next works, its context ends and the answer is next's to give. Reads of the request's body and writes
// of the answer do not end with the context: http.Server's ReadTimeout and WriteTimeout bound them.
//
// A nil h is the default Header; h is copied. Where callers are not trusted with how long they may keep the
// server busy, set Max. A next that opens a [Step] names its steps with [Limit] first.
func Middleware(next http.Handler, h *Header) http.Handler {
	header := h.spelled()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received, ok, err := header.Get(r.Header)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			refuse(w, http.StatusGatewayTimeout, &ExceededError{})
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, refusal{Code: "INVALID_DEADLINE", Message: err.Error()})
			return
		case !ok:
			received = header.Max
		}
		ctx, cancel := serving(r.Context(), received)
		defer cancel()
		if err := Check(ctx); err != nil {
			refuse(w, http.StatusGatewayTimeout, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// serving is the execution of one request, for which its caller gives total; 0 or less: it does not say.
func serving(ctx context.Context, total time.Duration) (context.Context, context.CancelFunc) {
	if total > 0 {
		return With(ctx, total, nil)
	}
	return Limit(ctx, nil)
}

// refusal is the body of a 400.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may have gone
}
