package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	errorBodySize = 64 << 10
	// errorBodyTime is the longest wait. Bodies of errors come with their header, in one packet; what has not come
	// by now rarely comes at all, and a stream's context says nothing of how soon its first content is due.
	errorBodyTime = 250 * time.Millisecond
)

// readErrorBody reads the body of an error until one whole JSON value has
// arrived, or its end, or 64 KiB, or a quarter of the time left to the deadline
// of ctx (at most 250 ms), or the end of ctx. Then it closes the body.
//
// The status is the news; the text explains it, and must not cost the time in
// which another target could answer. The end of the body is not awaited after
// whole JSON, because servers have been seen to hold the connection there.
func readErrorBody(ctx context.Context, body io.ReadCloser) []byte {
	ctx, cancel := context.WithTimeout(ctx, errorTime(ctx))
	defer cancel()
	// Closing a body ends a Read that hangs in it, whatever the transport made
	// of our context.
	stop := context.AfterFunc(ctx, func() { _ = body.Close() })
	text := readValue(io.LimitReader(body, errorBodySize))
	if stop() {
		_ = body.Close()
	}
	return text
}

func errorTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return errorBodyTime
	}
	return min(time.Until(deadline)/4, errorBodyTime)
}

// readValue returns what was read from r up to the end of its first JSON value,
// or all of it if it does not begin with one.
func readValue(r io.Reader) []byte {
	var text bytes.Buffer
	var value json.RawMessage
	err := json.NewDecoder(io.TeeReader(r, &text)).Decode(&value)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		_, _ = text.ReadFrom(r) // HTML or text: an error here is an end like any
	}
	return text.Bytes()
}

// replaceBody gives the SDK what was read.
func replaceBody(resp *http.Response, text []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(text))
	resp.ContentLength = int64(len(text))
	resp.TransferEncoding = nil
}
