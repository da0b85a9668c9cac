package vertex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/sse"
)

// wire is what goes over the wire under one call of the SDK, and what came back.
type wire struct {
	*httpx.Exchange
	call *gemini.Call
	body *reply             // nil until a 2xx response has come
	read []*gemini.Response // and not taken yet
}

type wireKey struct{}

// onWire returns a context for one call of the SDK.
func onWire(ctx context.Context, call *gemini.Call) (context.Context, *wire) {
	w := &wire{call: call}
	ctx, w.Exchange = httpx.WithExchange(ctx)
	return context.WithValue(ctx, wireKey{}, w), w
}

func wireOf(ctx context.Context) *wire {
	w, _ := ctx.Value(wireKey{}).(*wire)
	return w
}

// take returns the oldest piece that was read, or nil.
func (w *wire) take() *gemini.Response {
	if len(w.read) == 0 {
		return nil
	}
	one := w.read[0]
	w.read = w.read[1:]
	return one
}

func swapBody(ctx context.Context, sdks []byte) ([]byte, error) {
	if w := wireOf(ctx); w != nil {
		return w.call.Body, nil
	}
	return sdks, nil
}

// headers returns the hook that sets credentials, and a caller's deadline as it is: the SDK rounds it up, and sends
// limits that are our own, too.
func headers(apiKey string) func(context.Context, http.Header) error {
	timeout := &deadline.Header{Name: "X-Server-Timeout", Unit: time.Second}
	return func(ctx context.Context, h http.Header) error {
		h.Del("X-Goog-Api-Key")
		if apiKey != "" {
			h.Set("X-Goog-Api-Key", apiKey)
		}
		if w := wireOf(ctx); w != nil && w.call.Token != "" {
			h.Set("Authorization", "Bearer "+w.call.Token)
			if w.call.QuotaProject != "" {
				h.Set("X-Goog-User-Project", w.call.QuotaProject)
			}
		}
		h.Del(timeout.Name)
		timeout.Set(ctx, h)
		return nil
	}
}

// tap is the transport under the SDK, over our shims. It reads the bodies of answers itself and hands the SDK an
// empty object for each piece. The SDK would lose what it does not know, spends more than a hundred allocations on each event, and
// prints to the log of the program when it does not like a stream: from us it gets nothing to dislike.
type tap struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if w := wireOf(req.Context()); err == nil && w != nil && resp.StatusCode >= 200 && resp.StatusCode < 300 {
		w.body = newReply(resp, w)
		resp.Body, resp.ContentLength = w.body, -1
	}
	return resp, err
}

// reply is the body of an answer as the SDK reads it. It is read by one goroutine; Close may come from another.
type reply struct {
	wire *wire
	body io.ReadCloser
	next func() ([]byte, error) // the next value of the body

	out       []byte // ready for the SDK
	over      bool
	err       error // why it is over, if not well
	malformed bool  // err is about the text, not the way it came
	own       *sse.Reader
}

// unfinished reports whether a stream that was normalised here ended inside an event.
func (r *reply) unfinished() bool { return r.own != nil && r.own.Unfinished() }

func newReply(resp *http.Response, w *wire) *reply {
	r := &reply{wire: w, body: resp.Body}
	switch {
	case !w.call.Stream:
		r.next = r.whole(resp.ContentLength)
	case isEventStream(resp.Header.Get("Content-Type")):
		r.next = events(resp.Body) // normalised already
	default:
		r.next = r.unlabelled()
	}
	return r
}

// Read never fails: the SDK would print it.
func (r *reply) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.over {
			return 0, io.EOF
		}
		r.step()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Close closes the body under it.
func (r *reply) Close() error { return r.body.Close() }

var (
	emptyEvent  = []byte("data: {}\n\n")
	emptyObject = []byte("{}")
)

// step reads one value and makes of it what the SDK shall see.
func (r *reply) step() {
	raw, err := r.next()
	if err == nil {
		var all []gemini.Response
		all, err = gemini.Decode(raw)
		r.malformed = err != nil
		for i := 0; err == nil && i < len(all); i++ {
			r.wire.read = append(r.wire.read, &all[i])
		}
	}
	switch {
	case err == nil && r.wire.call.Stream:
		r.out = emptyEvent
	case err == nil:
		r.out, r.over = emptyObject, true
	case err == io.EOF && r.wire.call.Stream: //nolint:errorlint // a Reader's EOF is never wrapped
		r.over = true
	default:
		r.over, r.err = true, err
		if !r.wire.call.Stream {
			r.out = emptyObject
		}
	}
}

// maxEvent bounds one event. The largest healthy ones carry pictures, a few MiB.
const maxEvent = 16 << 20

var errNoEvents = errors.New("vertex: neither events nor a list of answers")

// whole reads all of the body.
func (r *reply) whole(length int64) func() ([]byte, error) {
	return func() ([]byte, error) {
		var text bytes.Buffer
		if length > 0 {
			text.Grow(int(min(length, 1<<20)) + bytes.MinRead)
		}
		if _, err := text.ReadFrom(io.LimitReader(r.body, bounds.Answer+1)); err != nil {
			return nil, err
		}
		if text.Len() > bounds.Answer {
			return nil, bounds.TooLarge
		}
		return text.Bytes(), nil
	}
}

// events reads a stream that package sse has normalised: one line of data an event.
func events(body io.Reader) func() ([]byte, error) {
	lines := bufio.NewReader(body)
	return func() ([]byte, error) {
		for {
			line, err := longLine(lines)
			data, ok := bytes.CutPrefix(line, []byte("data: "))
			if ok && string(data) != "[DONE]" {
				return data, nil // an error comes again
			}
			if err != nil {
				return nil, err
			}
		}
	}
}

// longLine reads a line without its end. It is valid until the next call.
func longLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull { //nolint:errorlint // a Reader's, not wrapped
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull { //nolint:errorlint // as above
			if len(long) > maxEvent {
				return nil, sse.ErrTooLarge
			}
			line, err = lines.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	return bytes.TrimRight(line, "\n"), err
}

// unlabelled reads a stream that does not say it is one. Without alt=sse, which a gateway may drop, the service
// sends a list that grows; other gateways only forget the content type.
func (r *reply) unlabelled() func() ([]byte, error) {
	body := bufio.NewReader(r.body)
	var next func() ([]byte, error)
	return func() ([]byte, error) {
		if next == nil {
			first, err := firstByte(body)
			switch {
			case err != nil:
				return nil, err
			case first == '[':
				next = list(body)
			case first == '{' || first == 'd' || first == ':' || first == 'e':
				r.own = sse.NewReader(io.NopCloser(body))
				next = events(r.own)
			default:
				return nil, errNoEvents
			}
		}
		return next()
	}
}

// firstByte peeks at the first byte that is no blank.
func firstByte(body *bufio.Reader) (byte, error) {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case b == ' ' || b == '\t' || b == '\r' || b == '\n' || b == 0xef || b == 0xbb || b == 0xbf:
		default:
			return b, body.UnreadByte()
		}
	}
}

// rationed is a reader of at most left bytes more.
type rationed struct {
	body io.Reader
	left int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, sse.ErrTooLarge
	}
	n, err := r.body.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// list reads the values of a JSON list as they come.
func list(body io.Reader) func() ([]byte, error) {
	ration := &rationed{body: body}
	dec := json.NewDecoder(ration)
	begun := false
	return func() ([]byte, error) {
		ration.left = maxEvent // for each value
		if !begun {
			if _, err := dec.Token(); err != nil {
				return nil, err
			}
			begun = true
		}
		if !dec.More() {
			_, err := dec.Token()
			switch err { // a Reader's EOF is never wrapped
			case nil:
				err = io.EOF
			case io.EOF: // the list was not closed
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		var raw json.RawMessage
		err := dec.Decode(&raw)
		return raw, err
	}
}
