package caller

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// note is where the transport leaves what go-openai's errors do not carry.
type note struct{ retryAfter time.Duration }

type noteKey struct{}

func withNote(ctx context.Context, n *note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// noting is a transport that looks for Retry-After.
type noting struct{ *http.Transport }

func (t noting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if n, ok := r.Context().Value(noteKey{}).(*note); ok && err == nil {
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			n.retryAfter = time.Duration(seconds) * time.Second
		}
	}
	return resp, err
}
