package punctual

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/azure/entra"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// Client is an [llm.Client] over the targets of a configuration. It is safe for concurrent use. [Open] makes one: calls
// and Reload of the zero Client are an error, and its Chain is nil. Close of it, and of a nil one, does nothing.
type Client struct {
	*llm.Client

	path      string
	providers map[string]llm.Factory
	logger    *slog.Logger
	current   atomic.Pointer[state]
	unknown   names // of operations without a plan, that were told of

	closing context.Context //nolint:containedctx // it outlives the calls that it ends
	cancel  context.CancelCauseFunc
	open    context.Context //nolint:containedctx // until Close begins; it ends a Reload under way
	shut    context.CancelFunc

	mu     sync.Mutex // held by Reload and Close
	closed atomic.Bool
}

// state is what a Reload replaces as a whole.
type state struct {
	chain *fallback.Chain
	plans plans
}

// Options are the settings of a Client that no file has. The zero value, like nil, is usable.
type Options struct {
	// Providers adds to [Providers], or replaces some of them, by the word behind provider: in the file.
	Providers map[string]llm.Factory
	// Logger hears of warnings of the file, reloads, breakers that change, and operations without a plan, each name
	// once. Nil is silent.
	Logger *slog.Logger
	// Client has observers and middleware of every call.
	Client llm.ClientOptions
}

// errClosing is the cause of the context of a call that Close ended.
var errClosing = errors.New("the client was closed")

// drainTime is how long Close lets calls run on; graceTime is what they have to return once they are canceled.
const (
	drainTime = 10 * time.Second
	graceTime = time.Second
)

// Providers are the factories by the word behind provider: in a file: azure (with auth: entra), openai for OpenAI and
// servers like it, bedrock, and vertex (with engine: vertexai). The map is the caller's to change.
func Providers() map[string]llm.Factory {
	return map[string]llm.Factory{
		"azure":   azure.Factory(entra.Auth),
		"openai":  azure.CompatibleFactory(),
		"bedrock": bedrock.Factory(),
		"vertex":  vertex.Factory(vertexai.Engine),
	}
}

// Open reads the file at path, and the environment, which overrides it; path "" is the environment alone. It opens
// every target, but sends nothing, starts no goroutine and starts no clock. A configuration that is wrong is a
// [*config.Error], which says where. Close the Client at the end.
func Open(ctx context.Context, path string, o *Options) (*Client, error) {
	if o == nil {
		o = &Options{}
	}
	c := &Client{path: path, providers: Providers(), logger: o.Logger}
	maps.Copy(c.providers, o.Providers)
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if err := c.load(ctx, nil); err != nil {
		return nil, err
	}
	c.closing, c.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // calls are ended by Close, not by the context of Open
	c.open, c.shut = context.WithCancel(c.closing)
	client := o.Client
	client.Observers = append(slices.Clone(client.Observers), c.observer())
	c.Client = llm.NewClient(llm.GeneratorFunc(c.generate), &client)
	return c, nil
}

// load reads the configuration and lets a chain over it take over from prev.
func (c *Client) load(ctx context.Context, prev *fallback.Chain) error {
	conf, err := config.Load(c.path)
	if err != nil {
		return err
	}
	conf.Breaker.OnChange = c.breakerChanged
	chain, err := conf.Build(ctx, c.providers, prev)
	if err != nil {
		return err
	}
	c.current.Store(&state{chain: chain, plans: plans{conf.Plans}})
	for _, w := range conf.Warnings {
		c.logger.WarnContext(ctx, "punctual: configuration", "at", w.Origin, "setting", w.Path, "warning", w.Text, "next", w.Next)
	}
	return nil
}

// generate is the Generator under the Client: the chain of the moment, in a context that Close can end.
func (c *Client) generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.closing, func() { cancel(errClosing) })()
	return c.current.Load().chain.Generate(ctx, req, sink)
}

// Chain is what calls run on just now: for its Status, or SetEmergency. A Reload replaces it, and Close is for the
// Client to call.
func (c *Client) Chain() *fallback.Chain {
	if !c.opened() {
		return nil
	}
	return c.current.Load().chain
}

// opened reports whether Open made the Client.
func (c *Client) opened() bool { return c != nil && c.current.Load() != nil }

func isClosed() error { return llm.Invalid("client", "is closed", "open a new one") }

// Reload reads the file and the environment again. Calls under way keep the plan they began with, those that come
// run by the new one; breakers, cool-downs and retry tokens of the targets whose settings are the same live on. A
// configuration that is wrong changes nothing, and the error says why. It may be called at any time, for example on
// SIGHUP.
func (c *Client) Reload(ctx context.Context) error {
	if !c.opened() {
		return llm.Invalid("client", "was not opened", "make it with Open")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return isClosed()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	before := c.Chain()
	err := c.load(ctx, before)
	switch {
	case err != nil && c.open.Err() != nil:
		return isClosed()
	case err != nil:
		c.logger.WarnContext(ctx, "punctual: not reloaded, the old configuration stays", "error", err.Error())
		return err
	}
	c.logger.InfoContext(ctx, "punctual: reloaded", "targets", targetNames(c.Chain()))
	return nil
}

func targetNames(chain *fallback.Chain) []string {
	var all []string
	for _, s := range chain.Status() {
		all = append(all, s.Target)
	}
	return all
}

// Close refuses new calls, and waits up to 10 s for those under way. What runs on then is canceled. At last every
// target is closed. A Reload under way is ended. It returns what closing them returned, and nil if the Client is closed
// already.
func (c *Client) Close() error {
	if !c.opened() {
		return nil
	}
	c.shut()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Swap(true) {
		return nil
	}
	defer c.cancel(errClosing)
	late := time.AfterFunc(drainTime, func() { c.cancel(errClosing) })
	defer late.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime+graceTime) //nolint:forbidigo // nobody bounds the end of a program but this
	defer cancel()
	return c.Chain().Close(ctx)
}

func (c *Client) breakerChanged(ch breaker.Change) {
	level := slog.LevelInfo
	if ch.To == breaker.Open {
		level = slog.LevelWarn
	}
	//nolint:forbidigo // the change belongs to no call
	c.logger.Log(context.Background(), level, "punctual: breaker", "target", ch.Name, "from", string(ch.From), "to", string(ch.To))
}
