package httpx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// readRequestBody returns the body of req in memory and closes it. It is nil if
// there is none.
func readRequestBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }() // read to its end: nothing is lost
	// One allocation for an honest length, no huge one for a wrong length.
	const most = 8 << 20
	var buf bytes.Buffer
	if n := req.ContentLength; n > 0 {
		buf.Grow(int(min(n, most)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(req.Body); err != nil {
		return nil, fmt.Errorf("httpx: reading the request body: %w", err)
	}
	return buf.Bytes(), nil
}

// shield gives out a body made of the bytes of body.
//
// It is there for three reasons. smithy closes its body as soon as the response
// headers arrive; if the writer of the transport has not finished its last read
// of it by then, it takes that for a failed write and closes the connection
// under the response (up to 11 % of streams, notes of the project). net/http
// repeats a request that hit a stale idle connection only if the body has a
// GetBody, which smithy's have not. And only a reader of our own can tell
// whether the request was sent.
//
// It gives out the body for one repeat at most. A stale connection is worth that; a peer that answers every request
// of HTTP/2 with GOAWAY or REFUSED_STREAM would have it repeated for as long as the call may last.
func shield(out *http.Request, body []byte, x *Exchange) {
	out.TransferEncoding = nil // the length is known: nothing to chunk
	out.ContentLength = int64(len(body))
	if len(body) == 0 {
		out.Body, out.GetBody = http.NoBody, nil
		// There is no body to watch: from here on it may be out.
		x.markSent()
		return
	}
	give := func() io.ReadCloser {
		b := &sentBody{x: x}
		b.bytes.Reset(body)
		return b
	}
	var repeated atomic.Bool
	out.GetBody = func() (io.ReadCloser, error) {
		if repeated.Swap(true) {
			return nil, errRefused
		}
		return give(), nil
	}
	out.Body = give()
}

// errRefused ends a request whose repeat was turned away as well.
var errRefused = errors.New("httpx: the peer turned the request away twice")

// sentBody is a request body that tells its exchange when it is read.
//
// A provider acts on, and bills, a request whose body it has, so that is where
// "not sent" ends. A transport reads a body of known length only once it has a
// connection to write it to: until the first Read nothing of it has left this
// process, and after it all of it may have. The request line and the headers may
// have gone out before; they ask for nothing yet.
//
// net/http flushes the headers before a body whose type it does not know, one
// more write of some microseconds. An httptrace hook would save it, but says
// nothing under a transport that is not net/http's.
type sentBody struct {
	bytes bytes.Reader
	x     *Exchange
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.x.markSent()
	return b.bytes.Read(p)
}

// Close does nothing: the bytes stay for a transport that still reads them.
func (b *sentBody) Close() error { return nil }
