package azure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
)

// connection is what an SDK client is made of.
type connection struct {
	base    string // what stands before /chat/completions
	version string
	key     string
	bearer  bool // the key, or a token, goes into Authorization
	models  bool // Azure AI
	http    *http.Client
	hint    *deadline.Header
}

// connect makes the SDK client. The base is already whole and the SDK is never told a model, so it has
// no deployment name to mangle and none to take for a model whose limits it thinks it knows.
func (p *Provider) connect(c *connection) {
	config := openai.DefaultConfig(c.key)
	if !c.bearer {
		// Of the SDK's types this is the one that sends api-key and leaves the base alone.
		config.APIType = openai.APITypeCloudflareAzure
	}
	config.BaseURL, config.APIVersion = c.base, c.version
	config.EmptyMessagesLimit = math.MaxInt // the normaliser lets no line through that is no data
	options := httpx.Options{Body: swapBody, SSE: true}
	switch {
	case c.models:
		options.Header = func(ctx context.Context, h http.Header) error {
			h.Set("Extra-Parameters", "pass-through") // Azure AI refuses fields of single models otherwise
			return setToken(ctx, h)
		}
	case c.bearer:
		options.Header = setToken
	}
	options.Header = hint.Hook(c.hint, options.Header)
	client := httpx.Client(c.http, options)
	config.HTTPClient = doer{client: client}
	p.client, p.key = openai.NewClientWithConfig(config), &c.key
	if c.http == nil { // otherwise the connections are the caller's
		p.closeIdle = client.CloseIdleConnections
	}
}

// wire is what goes over the wire under one call of the SDK, and what came back.
type wire struct {
	*httpx.Exchange
	body   []byte            // to send in place of the SDK's
	token  string            // "": the SDK's key
	secret secret.Credential // the token or the key: no word of a provider may repeat it

	reply *reply // nil until a 2xx response has come
}

type wireKey struct{}

// onWire returns a context for one call of the SDK.
func (p *Provider) onWire(ctx context.Context, body []byte, token string) (context.Context, *wire) {
	w := &wire{body: body, token: token, secret: secret.Of(token)}
	if token == "" && p.key != nil {
		w.secret = secret.Of(*p.key)
	}
	ctx, w.Exchange = httpx.WithExchange(ctx)
	return context.WithValue(ctx, wireKey{}, w), w
}

func wireOf(ctx context.Context) *wire {
	w, _ := ctx.Value(wireKey{}).(*wire)
	return w
}

func swapBody(ctx context.Context, sdks []byte) ([]byte, error) {
	if w := wireOf(ctx); w != nil {
		return w.body, nil
	}
	return sdks, nil
}

func setToken(ctx context.Context, h http.Header) error {
	if w := wireOf(ctx); w != nil && w.token != "" {
		h.Set("Authorization", "Bearer "+w.token)
	}
	return nil
}

// doer is the SDK's client: ours, with a look at the body of the reply.
type doer struct{ client *http.Client }

// Do sends a request of the SDK. Of a whole answer the SDK gets only a stub to decode.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req) //nolint:gosec // the address is the configured endpoint
	w := wireOf(req.Context())
	if err != nil || w == nil || resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return resp, err
	}
	w.reply = &reply{body: resp.Body, wire: w}
	if req.Header.Get("Accept") == "text/event-stream" {
		resp.Body = w.reply
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	w.reply.read(req.Context(), resp.ContentLength)
	stub := *resp
	stub.Body = io.NopCloser(strings.NewReader("{}"))
	return &stub, nil
}

// reply is the body of a reply. It is read by one goroutine; Close may come from another.
type reply struct {
	body io.ReadCloser
	wire *wire
	text []byte // a whole answer
	err  error  // how it ended; nil: it did not yet
}

var errTooLarge = errors.New("azure: answer larger than 32 MiB")

// errProblem ends a stream with an error too long for the SDK, which would decode all of it.
var errProblem = errors.New("azure: the stream reported an error longer than 64 KiB")

// Read hands a stream to the SDK.
func (r *reply) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil {
		r.err = err
	}
	if len(r.wire.StreamError()) > bounds.Problem {
		return 0, errProblem
	}
	return n, err
}

func (r *reply) Close() error { return r.body.Close() }

// errNoObject is a body that is no JSON object.
var errNoObject = errors.New("azure: the answer is no JSON object")

// read reads a whole answer: the JSON object that the body begins with, behind blanks and a byte-order mark. The
// end of the body is not awaited behind it, for servers have been seen to hold the connection there.
func (r *reply) read(ctx context.Context, length int64) {
	const step = 256 << 10
	text := make([]byte, 0, min(max(length, 0), 1<<20)+bytes.MinRead)
	var o object
	for total := 0; total <= bounds.Answer; {
		text = slices.Grow(text, bytes.MinRead)
		room := text[len(text):min(cap(text), len(text)+step)]
		n, err := r.body.Read(room)
		total += n
		if text = text[:len(text)+scan(&o, room[:n])]; !o.begun {
			text = text[:0]
		}
		switch {
		case o.other:
			r.err = errNoObject
			return
		case o.whole():
			r.text = text[bytes.IndexByte(text, '{'):]
			return
		case err == io.EOF && len(text) > 0: //nolint:errorlint // a Reader's EOF is never wrapped
			err = io.ErrUnexpectedEOF
		case err == nil:
			err = ctx.Err()
		}
		if err != nil {
			r.err = err
			return
		}
	}
	r.err = errTooLarge
}

// drainTime is how long a connection may take to end a stream whose end mark was read.
const drainTime = 10 * time.Millisecond

// drain reads the end of a stream behind its end mark, so that an HTTP/1 connection can be used again. The end
// is usually there already; a peer that keeps it back costs its connection.
func (r *reply) drain() {
	if r.err != nil {
		return
	}
	late := time.AfterFunc(drainTime, func() { _ = r.body.Close() })
	defer late.Stop()
	var rest [512]byte
	for range 8 {
		if _, err := r.Read(rest[:]); err != nil {
			return
		}
	}
}
