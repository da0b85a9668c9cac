package adaptertest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// RoundTrip is a transport made of a function.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Client is a client whose every response has a body of its own, without a socket.
func Client(status int, contentType string, body func(*http.Request) io.ReadCloser) *http.Client {
	return &http.Client{Transport: RoundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: body(req), ContentLength: -1, Request: req,
		}, nil
	})}
}

// Same is a [Client] whose every response is the same.
func Same(status int, contentType string, body []byte) *http.Client {
	return Client(status, contentType, func(*http.Request) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) })
}

// Reading is a [Client] whose every answer is read from body.
func Reading(contentType string, body io.ReadCloser) *http.Client {
	return Client(http.StatusOK, contentType, func(*http.Request) io.ReadCloser { return body })
}

// Paced is a [Client] whose responses come one piece after each gap, and are then held open. It has no socket, so time can
// be virtual.
func Paced(status int, contentType string, gap time.Duration, pieces ...string) *http.Client {
	return Client(status, contentType, func(req *http.Request) io.ReadCloser {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(req.Context().Err()) })
		go func() {
			for _, p := range pieces {
				select {
				case <-time.NewTimer(gap).C:
				case <-req.Context().Done():
					return
				}
				if _, err := io.WriteString(w, p); err != nil {
					return
				}
			}
		}()
		return r
	})
}

// Pieces is a body whose pieces next makes, one for each read. It ends with an empty one.
func Pieces(next func(int) string) io.ReadCloser { return &pieces{next: next} }

type pieces struct {
	next func(int) string
	i    int
	left string
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.left == "" {
		p.left = p.next(p.i)
		p.i++
	}
	if p.left == "" {
		return 0, io.EOF
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

func (*pieces) Close() error { return nil }
