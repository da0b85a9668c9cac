package httpx

import (
	"context"
	"net/http"
	"strings"
)

// Options are what an adapter adds to its requests and responses. The functions
// may be called by many goroutines at once.
type Options struct {
	// Header, if set, may change the headers of a request before it is sent,
	// for a token that has to be renewed say. It is called for each request of
	// a call, redirects included. Its error ends the request, unsent, and is
	// found by errors.Is and errors.As through what the client returns.
	Header func(ctx context.Context, h http.Header) error

	// Body, if set, may return another body for a request that has one, made of
	// the bytes it is given or not: they are a copy. Errors are as with Header.
	// Not for requests whose SDK signs the body.
	Body func(ctx context.Context, body []byte) ([]byte, error)

	// SSE has the bodies of event streams normalised by package sse: responses
	// of that content type, and all 2xx responses to a request that accepts
	// nothing else, since a gateway may label its stream, or the JSON error it
	// sends in place of one, as it likes.
	SSE bool
}

// Client returns a client for one SDK. A nil base means a client on a [Transport]
// of its own.
//
// A base keeps its Jar, its CheckRedirect (asked after the rules of this
// package) and its Transport, which goes under the shims; without one it gets a
// [Transport] too. Its Timeout is dropped: it spans the whole exchange, body
// included, and would cut healthy streams. The context of the call limits it
// instead. The base itself is not changed.
func Client(base *http.Client, o Options) *http.Client {
	if base == nil {
		base = new(http.Client)
	}
	next := base.Transport
	if next == nil {
		next = Transport()
	}
	return &http.Client{
		Transport:     &shim{next: next, Options: o},
		CheckRedirect: redirectRule(base.CheckRedirect),
		Jar:           base.Jar,
	}
}

// maxRedirects is enough for any gateway that only moves a path.
const maxRedirects = 3

// redirectRule follows redirects that keep the host, the scheme and the method.
// Others would carry prompts and credentials to strangers, or repeat a POST as a
// GET that the provider answers with something else; for them the redirect
// itself is the response, and [Exchange.Redirect] has its target.
func redirectRule(then func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if !strings.EqualFold(req.URL.Host, first.URL.Host) || req.URL.Scheme != first.URL.Scheme ||
			method(req) != method(first) || len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		if then != nil {
			return then(req, via)
		}
		return nil
	}
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}
