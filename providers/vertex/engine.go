package vertex

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"google.golang.org/genai"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
)

// genaiEngine carries calls with google.golang.org/genai, over HTTP.
var genaiEngine = Engine{Name: genaiName, Open: openGenai}

// genaiConn is the SDK's client for one model.
type genaiConn struct {
	client    *genai.Client
	model     string
	closeIdle func()
}

// openGenai makes the SDK's client. Everything is set, for what is not is read from the environment, and the
// SDK prints which of the two it takes: that is why the key, the project and the location are there even when the
// service has no use for them. The key that is sent is set by the transport.
func openGenai(s *gemini.Settings) (gemini.Conn, error) {
	const unused = "unused"
	httpClient := httpx.Client(s.HTTP, httpx.Options{Header: hint.Hook(s.Hint, headers(s.APIKey)), Body: swapBody, SSE: true})
	c := &genaiConn{model: s.Model}
	if s.HTTP == nil { // otherwise the connections are the caller's
		c.closeIdle = httpClient.CloseIdleConnections
	}
	config := &genai.ClientConfig{
		Backend: genai.BackendVertexAI, APIKey: unused, Project: s.Project, Location: s.Location,
		HTTPClient: &http.Client{
			Transport: &tap{next: httpClient.Transport}, CheckRedirect: httpClient.CheckRedirect, Jar: httpClient.Jar,
		},
		HTTPOptions: genai.HTTPOptions{BaseURL: s.Base + "/", APIVersion: s.Version},
	}
	switch s.Form {
	case gemini.FormGemini:
		config.Backend, config.Project, config.Location = genai.BackendGeminiAPI, "", ""
	case gemini.FormExpress:
		config.Project = unused
		config.HTTPOptions.BaseURLResourceScope = genai.ResourceScopeCollection // no project in the path
	case gemini.FormVertex:
	}
	var err error
	//nolint:forbidigo // the SDK uses it only to look for credentials, which it has no need to do
	if c.client, err = genai.NewClient(context.Background(), config); err != nil {
		// The SDK's own text has the whole configuration in it.
		return nil, llm.Invalid("options", "are refused by the SDK", "check project, location, model and endpoint")
	}
	return c, nil
}

// Close closes idle connections.
func (c *genaiConn) Close() error {
	if c.closeIdle != nil {
		c.closeIdle()
	}
	return nil
}

// Do begins a call.
func (c *genaiConn) Do(ctx context.Context, call *gemini.Call) gemini.Reply {
	r := &genaiReply{conn: c, stream: call.Stream}
	r.ctx, r.wire = onWire(ctx, call)
	return r
}

// genaiReply is one call of the SDK. What the service answered is read from the wire, not from the SDK: see tap.
type genaiReply struct {
	conn   *genaiConn
	ctx    context.Context //nolint:containedctx // it lives as long as the one call it belongs to
	wire   *wire
	stream bool

	end    error // what is to be returned behind the pieces
	next   func() (*genai.GenerateContentResponse, error, bool)
	stop   func()
	linger time.Duration
}

// Linger bounds the next waits.
func (r *genaiReply) Linger(d time.Duration) { r.linger = d }

// Close ends the call.
func (r *genaiReply) Close() {
	var ignored error // there is nothing to do about a body that does not close
	defer recovered(&ignored)
	if r.stop != nil {
		r.stop()
	}
	if r.wire.body != nil {
		_ = r.wire.body.Close()
	}
}

// Next returns what the SDK's next piece was made of.
func (r *genaiReply) Next() (*gemini.Response, error) {
	for {
		if one := r.wire.take(); one != nil {
			if gemini.Says(one.Error) {
				return nil, r.reported(one.Error)
			}
			return one, nil
		}
		if r.end != nil {
			return nil, r.end
		}
		r.end = r.advance()
	}
}

// advance lets the SDK read one piece more. Its error is what Next returns behind the pieces.
func (r *genaiReply) advance() error {
	if !r.stream {
		return r.verdict(r.unary())
	}
	if r.linger > 0 && r.wire.body != nil {
		late := time.AfterFunc(r.linger, func() { _ = r.wire.body.Close() })
		defer late.Stop()
	}
	if r.next == nil {
		r.open()
	}
	more, err := r.pull()
	if more && err == nil {
		return nil
	}
	return r.verdict(err)
}

// verdict is how a call ended when the SDK is through with it. The SDK is never told of an error behind a 2xx.
func (r *genaiReply) verdict(sdkErr error) error {
	switch {
	case r.wire.body == nil || errors.Is(sdkErr, errPanic):
		return &gemini.Failure{Err: r.refused(sdkErr)}
	case r.wire.body.err != nil:
		return &gemini.Failure{Err: r.broken(r.wire.body.err)}
	default:
		return io.EOF
	}
}

// config is new for each call: the SDK writes into it.
func config() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{AutomaticContinuation: genai.Ptr(false)}
}

// contents stand for the request, which the transport puts into the body: see swapBody.
func contents() []*genai.Content { return genai.Text("-") }

// The calls of the SDK, each under a recover of its own. The sink never runs under one: a stream is pulled, so the
// SDK is not on the stack when it is called.

func (r *genaiReply) unary() (err error) {
	defer recovered(&err)
	_, err = r.conn.client.Models.GenerateContent(r.ctx, r.conn.model, contents(), config())
	return err
}

func (r *genaiReply) open() {
	r.next, r.stop = iter.Pull2(r.conn.client.Models.GenerateContentStream(r.ctx, r.conn.model, contents(), config()))
}

func (r *genaiReply) pull() (more bool, err error) {
	defer recovered(&err)
	_, err, more = r.next()
	return more, err
}

// errPanic stands for a panic of the SDK. Its text is not kept: it may hold anything.
var errPanic = errors.New("vertex: the SDK panicked")

func recovered(err *error) {
	if recover() != nil {
		*err = errPanic
	}
}
