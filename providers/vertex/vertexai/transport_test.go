package vertexai_test

import (
	"strings"
	"testing"

	_ "google.golang.org/grpc/encoding/gzip" // as a program may have it for another service
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/punctual-llm/punctual/llm"
)

// Words of gRPC for faults that it finds itself.
const (
	tooLargeWords = "grpc: received message larger than max (33554433 vs. 33554432)"
	unpackWords   = "grpc: failed to decompress the message: gzip: invalid header"
	unreadWords   = "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data"
	noneWords     = "cardinality violation: received no response message from non-server-streaming RPC"
)

// What gRPC finds wrong with the way, or with what came, is not the service's word, though it has the same codes.
func TestFaultsOfTheTransportAreNotTheServices(t *testing.T) {
	t.Parallel()
	half := chunk(none, text("half"))
	for name, c := range map[string]struct {
		handle       func(r *raw)
		unary, begun llm.Kind // of a whole answer, and of a stream behind its first content
		code         string   // of both; "": not compared
	}{
		"too large":       {func(r *raw) { r.data([]byte{0, 2, 16, 0, 0}) }, llm.ErrBadOutput, llm.ErrBadOutput, "answer_too_large"},
		"far too large":   {func(r *raw) { r.data([]byte{0, 255, 255, 255, 255}) }, llm.ErrBadOutput, llm.ErrBadOutput, "answer_too_large"},
		"malformed":       {func(r *raw) { r.data(framed(0, []byte{0xff, 0xff})); r.end("0", "") }, llm.ErrBadOutput, llm.ErrBadOutput, "malformed_answer"},
		"no such flag":    {func(r *raw) { r.data(framed(7, encoded(half))); r.end("0", "") }, llm.ErrBadOutput, llm.ErrBadOutput, "malformed_answer"},
		"packed, unsaid":  {func(r *raw) { r.data(framed(1, encoded(half))); r.end("0", "") }, llm.ErrBadOutput, llm.ErrBadOutput, "malformed_answer"},
		"cut message":     {func(r *raw) { r.data(framed(0, encoded(half))[:9]); r.end("0", "") }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"no end":          {func(r *raw) { r.frame(frameData, endStream, r.stream, nil) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"reset, internal": {func(r *raw) { r.reset(2) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"reset, refused":  {func(r *raw) { r.reset(7) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"reset, canceled": {func(r *raw) { r.reset(8) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"reset, calm":     {func(r *raw) { r.reset(11) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"reset, forbids":  {func(r *raw) { r.reset(12) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"goes away":       {func(r *raw) { r.goAway(0, 0, "no such host"); _ = r.Close() }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"goes away angry": {func(r *raw) { r.goAway(r.stream, 11, "connection refused"); _ = r.Close() }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"cut":             {func(r *raw) { _ = r.Close() }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"no frame":        {func(r *raw) { _, _ = r.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"two headers":     {func(r *raw) { r.begin() }, "", llm.ErrInterrupted, ""},
		"a broken status": {func(r *raw) { r.end("many", "") }, llm.ErrConnection, llm.ErrInterrupted, ""},
		"no message":      {func(r *raw) { r.end("0", "") }, llm.ErrBadOutput, "", "empty_body"},
		"two messages":    {func(r *raw) { r.message(half); r.message(half); r.end("0", "") }, llm.ErrBadOutput, "", "malformed_answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.unary != "" {
				p := overRaw(t, func(r *raw) { r.begin(); c.handle(r) })
				_, _, err := ask(t, p, hello(), false)
				if e := failed(t, err, c.unary); e.NotSent || c.code != "" && e.Code != c.code {
					t.Errorf("whole: %+v, not sent %v", e, e.NotSent)
				}
			}
			if c.begun != "" {
				p := overRaw(t, func(r *raw) { r.begin(); r.message(half); c.handle(r) })
				_, _, err := ask(t, p, hello(), true)
				if e := failed(t, err, c.begun); e.NotSent || e.Partial.Text() != "half" || c.code != "" && e.Code != c.code {
					t.Errorf("stream: %+v, not sent %v", e, e.NotSent)
				}
			}
		})
	}
}

// A message that is said to be compressed and is not, or not in a way that is known here.
func TestAnswersThatCannotBeUnpacked(t *testing.T) {
	t.Parallel()
	for _, packing := range []string{"gzip", "zstd"} {
		both(t, func(t *testing.T, stream bool) {
			t.Helper()
			p := overRaw(t, func(r *raw) {
				r.begin("grpc-encoding", packing)
				r.data(framed(1, encoded(chunk(none, text("half")))))
				r.end("0", "")
			})
			_, _, err := ask(t, p, hello(), stream)
			if e := failed(t, err, llm.ErrBadOutput); e.Code != "malformed_answer" || e.NotSent {
				t.Errorf("%s: %+v", packing, e)
			}
		})
	}
}

// Before a header came there is only a connection, and nothing that was answered.
func TestConnectionsThatEndBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(r *raw){
		"reset": func(r *raw) { r.reset(2) }, "goes away": func(r *raw) { r.goAway(r.stream, 2, "x509: certificate has expired"); _ = r.Close() },
		"cut": func(r *raw) { _ = r.Close() }, "noise": func(r *raw) { _, _ = r.Write([]byte(strings.Repeat("x", 64))) },
	} {
		both(t, func(t *testing.T, stream bool) {
			t.Helper()
			_, _, err := ask(t, overRaw(t, handle), hello(), stream)
			if e := failed(t, err, llm.ErrConnection); e.NotSent || e.Status != 0 || e.Code == "certificate_expired" {
				t.Errorf("%s: %+v, not sent %v", name, e, e.NotSent)
			}
		})
	}
}

// The words of a status are the service's to choose, its Kind comes from its code.
func TestTheWordsOfAStatusChooseNoKind(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		tooLargeWords, unpackWords, unreadWords, noneWords, "unexpected HTTP status code received from server: 401 (Unauthorized)",
		"transport: authentication handshake failed", "no such host", "unexpected EOF", "grpc: received unexpected payload format 9",
	} {
		for status, kind := range map[string]llm.Kind{"13": llm.ErrUnavailable, "8": llm.ErrRateLimited, "14": llm.ErrUnavailable} {
			both(t, func(t *testing.T, stream bool) {
				t.Helper()
				alone := overRaw(t, func(r *raw) {
					r.header(endStream, ":status", "200", "content-type", "application/grpc", "grpc-status", status, "grpc-message", words)
				})
				_, _, err := ask(t, alone, hello(), stream)
				_ = failed(t, err, kind)
				if words == "unexpected EOF" || strings.Contains(words, "payload format") {
					return // behind a header they cannot be told apart
				}
				_, _, err = ask(t, overRaw(t, func(r *raw) { r.begin(); r.end(status, words) }), hello(), stream)
				_ = failed(t, err, kind)
			})
		}
	}
}

// bomb is a message of n parts that are empty: two bytes each on the wire, a hundred in memory.
func bomb(n int) []byte {
	content := []byte(strings.Repeat("\x12\x00", n))
	candidate := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), content)
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), candidate)
}
