package httpx

import (
	"context"
	"net/http"
	"strings"

	"github.com/punctual-llm/punctual/internal/sse"
)

// shim is the RoundTripper under an SDK.
type shim struct {
	Options
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s *shim) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	x := exchangeOf(ctx)
	x.begin()
	out, err := s.request(req, x)
	if err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req // the SDK's, not our copy
	s.response(ctx, resp, x)
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport
// under the shim.
func (s *shim) CloseIdleConnections() {
	if c, ok := s.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// request returns a copy of req with shielded body and the adapter's changes,
// and closes the body of req. A RoundTripper may not change its request.
func (s *shim) request(req *http.Request, x *Exchange) (*http.Request, error) {
	ctx := req.Context()
	body, err := readRequestBody(req)
	if err != nil {
		return nil, err
	}
	out := req.WithContext(ctx)
	if s.Header != nil {
		if out.Header = req.Header.Clone(); out.Header == nil {
			out.Header = make(http.Header)
		}
		if err := s.Header(ctx, out.Header); err != nil {
			return nil, err
		}
	}
	if len(body) > 0 && s.Body != nil {
		if body, err = s.Body(ctx, body); err != nil {
			return nil, err
		}
	}
	shield(out, body, x)
	return out, nil
}

// response notes resp in x and wraps or replaces its body.
func (s *shim) response(ctx context.Context, resp *http.Response, x *Exchange) {
	x.answered(resp)
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
	case resp.StatusCode < 200:
		// A 101 hands over the bare connection, which no context ends any more. Nothing here ever asks for one.
		_ = resp.Body.Close()
		replaceBody(resp, nil)
	case resp.StatusCode >= 300:
		text := readErrorBody(ctx, resp.Body)
		x.failed(text)
		replaceBody(resp, text)
	default:
		resp.Body = &cutBody{body: resp.Body, ctx: ctx, x: x}
		if s.SSE && isEventStream(resp) {
			resp.Body = &eventBody{Reader: sse.NewReader(resp.Body), x: x}
			resp.ContentLength = -1
		}
	}
}

func isEventStream(resp *http.Response) bool {
	return isEventType(resp.Header.Get("Content-Type")) || isEventType(resp.Request.Header.Get("Accept"))
}

func isEventType(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}
