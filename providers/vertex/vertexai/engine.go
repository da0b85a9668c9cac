package vertexai

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/splice"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// Engine carries the calls of package vertex over gRPC: it goes into vertex.Options.Engine, or into vertex.Factory.
var Engine = vertex.Engine{Name: "vertexai", Open: open}

// useGenai is the next step for whatever only the default engine can do.
const useGenai = "use engine genai"

// version is the one that the library speaks.
const version = "v1beta1"

// open connects to one model. It sends nothing, and dials nothing.
func open(s *gemini.Settings) (gemini.Conn, error) { return dialer(s, nil) }

// dialer is open with the roots to trust; nil are those of the system.
func dialer(s *gemini.Settings, roots *tls.Config) (*conn, error) {
	switch {
	case s.APIKey != "":
		return nil, llm.Unsupported("api_key", "is not taken by engine vertexai", "use Application Default Credentials or a source of tokens, or "+useGenai)
	case s.Form != gemini.FormVertex:
		return nil, llm.Unsupported("project", "is empty, and engine vertexai has neither express mode nor the Gemini API", "give the project, or "+useGenai)
	case s.HTTP != nil:
		return nil, llm.Unsupported("http", "is set, and engine vertexai speaks gRPC", "leave it out, or "+useGenai)
	case s.Version != version:
		return nil, llm.Unsupported("endpoint", "names a version that is not "+version, "leave it out, or "+useGenai)
	}
	if s.Hint != nil && strings.HasSuffix(strings.ToLower(s.Hint.Name), "-bin") {
		return nil, llm.Invalid("hint", "names a header that ends with -bin, which gRPC takes for bytes", "give another name, or "+useGenai)
	}
	u, err := url.Parse(s.Base)
	if err != nil || u.Host == "" {
		return nil, llm.Invalid("endpoint", "is no http or https address", "write it as https://HOST")
	}
	if strings.Trim(u.Path, "/") != "" {
		return nil, llm.Unsupported("endpoint", "has a path, which gRPC has no place for", "give host and port alone, or "+useGenai)
	}
	c := &conn{model: resource(s), secure: u.Scheme == "https", hint: s.Hint, options: dialOptions(s.Custom)}
	port := "80"
	way := insecure.NewCredentials()
	if c.secure {
		port = "443"
		if roots == nil {
			roots = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		way = credentials.NewTLS(roots)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	c.host = u.Hostname()
	c.target = "dns:///" + net.JoinHostPort(u.Hostname(), port)
	c.options = append(c.options, grpc.WithTransportCredentials(way))
	return c, nil
}

// resource is the full name of a model.
func resource(s *gemini.Settings) string {
	name := s.Model
	switch {
	case strings.HasPrefix(name, "projects/"):
		return name
	case strings.HasPrefix(name, "publishers/"):
	case strings.HasPrefix(name, "models/"):
		name = "publishers/google/" + name
	default:
		publisher, model, ok := strings.Cut(name, "/")
		if !ok {
			publisher, model = "google", name
		}
		name = "publishers/" + publisher + "/models/" + model
	}
	return "projects/" + s.Project + "/locations/" + s.Location + "/" + name
}

// maxHeader bounds the headers of an answer, and the status at its end. Services send a few KiB.
const maxHeader = 1 << 20

// dialOptions are those that do not depend on the address. A connection that failed is tried again soon, for what
// waits longer is the business of whoever calls: with gRPC's own back-off, of up to 120 s, a service that is back
// would still be refused here.
func dialOptions(custom bool) []grpc.DialOption {
	const connectTime = 10 * time.Second
	again := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	options := []grpc.DialOption{
		grpc.WithStatsHandler(watcher{}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: connectTime}),
		grpc.WithMaxHeaderListSize(maxHeader),
	}
	if !custom { // a server with gRPC's own settings takes such pings for an attack
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}))
	}
	return options
}

// conn is the way to one model.
type conn struct {
	model   string // in full
	target  string
	host    string // of target
	secure  bool
	hint    *deadline.Header
	options []grpc.DialOption

	mu   sync.Mutex
	open *channel // nil: none, the next call makes one
}

// channel is a gRPC channel and the calls on it.
type channel struct {
	*grpc.ClientConn
	calls int
	old   bool // to be closed by its last call
}

// acquire returns the channel, for one call more.
func (c *conn) acquire() (*channel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		cc, err := grpc.NewClient(c.target, c.options...)
		if err != nil {
			return nil, err
		}
		c.open = &channel{ClientConn: cc}
	}
	c.open.calls++
	return c.open, nil
}

// release gives a channel back.
func (c *conn) release(ch *channel) {
	c.mu.Lock()
	ch.calls--
	last := ch.old && ch.calls == 0
	c.mu.Unlock()
	if last {
		_ = ch.Close()
	}
}

// Close closes the channel, or leaves that to the last call on it.
func (c *conn) Close() error {
	c.mu.Lock()
	ch := c.open
	c.open = nil
	idle := ch != nil && ch.calls == 0
	if ch != nil {
		ch.old = true
	}
	c.mu.Unlock()
	if idle {
		return ch.Close()
	}
	return nil
}

// Check makes the message of a body, and refuses what it has no place for. Long values go into it as they are.
func (c *conn) Check(ctx context.Context, body []byte, long *splice.Values) (prepared any, err error) {
	req, refused := encode(body, c.model)
	if refused != nil {
		return nil, refused
	}
	if long != nil {
		putBack(req.ProtoReflect(), long)
	}
	return req, ctx.Err()
}

// CarriesBytes implements gemini.PartCarrier.
func (c *conn) CarriesBytes() bool { return true }

// Do begins a call.
func (c *conn) Do(ctx context.Context, call *gemini.Call) gemini.Reply {
	r := &reply{conn: c, stream: call.Stream}
	req, ok := call.Prepared.(*aiplatformpb.GenerateContentRequest)
	if !ok { // nobody has asked Check
		var err *llm.Error
		if req, err = encode(call.Body, c.model); err != nil {
			r.end = &gemini.Failure{Err: err}
			return r
		}
	}
	if r.channel, r.end = c.channelOrFailure(); r.end != nil {
		return r
	}
	x := &exchange{channel: r.channel.ClientConn, request: req}
	x.credential = bearer{token: call.Token, quotaProject: call.QuotaProject, secure: c.secure, hint: c.hint}
	r.exchange = x
	r.ctx, r.cancel = context.WithCancel(context.WithValue(ctx, exchangeKey{}, x))
	return r
}

func (c *conn) channelOrFailure() (*channel, error) {
	ch, err := c.acquire()
	if err != nil {
		return nil, &gemini.Failure{Err: &llm.Error{Kind: llm.ErrInvalid, NotSent: true, Err: &llm.FieldError{
			Field: "endpoint", Problem: "is refused by gRPC", Next: "write it as https://HOST",
		}}}
	}
	return ch, nil
}
