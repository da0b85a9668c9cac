package azure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/internal/httpx"
)

// connection is what an SDK client is made of.
type connection struct {
	base    string // what stands before /chat/completions
	version string
	key     string
	bearer  bool // the key, or a token, goes into Authorization
	models  bool // Azure AI
	http    *http.Client
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
	client := httpx.Client(c.http, options)
	config.HTTPClient = doer{client: client}
	p.client = openai.NewClientWithConfig(config)
	if c.http == nil { // otherwise the connections are the caller's
		p.closeIdle = client.CloseIdleConnections
	}
}

// wire is what goes over the wire under one call of the SDK, and what came back.
type wire struct {
	*httpx.Exchange
	body  []byte // to send in place of the SDK's
	token string // "": the SDK's key

	reply *reply // nil until a 2xx response has come
}

type wireKey struct{}

// onWire returns a context for one call of the SDK.
func onWire(ctx context.Context, body []byte, token string) (context.Context, *wire) {
	w := &wire{body: body, token: token}
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

// Do sends a request of the SDK.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req) //nolint:gosec // the address is the configured endpoint
	if w := wireOf(req.Context()); err == nil && w != nil && resp.StatusCode >= 200 && resp.StatusCode < 300 {
		w.reply = &reply{body: resp.Body, keep: req.Header.Get("Accept") != "text/event-stream"}
		if n := resp.ContentLength; w.reply.keep && n > 0 {
			w.reply.text.Grow(int(min(n, 1<<20)))
		}
		resp.Body = w.reply
	}
	return resp, err
}

// reply is the body of a reply as the SDK reads it. It is read by one goroutine; Close may come from another.
type reply struct {
	body io.ReadCloser
	keep bool
	text bytes.Buffer // what was read, if keep
	err  error        // how it ended; nil: it did not yet
}

// maxReply bounds a whole answer. The largest healthy ones carry speech, a few MiB.
const maxReply = 32 << 20

var errTooLarge = errors.New("azure: answer larger than 32 MiB")

func (r *reply) Read(p []byte) (int, error) {
	if r.text.Len() > maxReply {
		return 0, errTooLarge
	}
	n, err := r.body.Read(p)
	if r.keep {
		r.text.Write(p[:n])
	}
	if err != nil {
		r.err = err
	}
	return n, err
}

func (r *reply) Close() error { return r.body.Close() }

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
