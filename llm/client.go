package llm

import (
	"context"
	"errors"
)

// Client is what applications hold. It validates requests, tells observers and folds streams; limits,
// retries and fallback are the Generator's, so give it a fallback.Chain. It is safe for concurrent use. The
// zero Client answers every call with [ErrInvalid].
type Client struct {
	generator Generator
	observer  *Observer // nil: none of its own
}

// ClientOptions configures a Client. The zero value, like nil, adds nothing.
type ClientOptions struct {
	Observers  []*Observer                 // told of every call, in order
	Middleware []func(Generator) Generator // around the Generator; the first is outermost
}

// NewClient returns a Client over g. With a nil g it answers every call with [ErrInvalid].
func NewClient(g Generator, o *ClientOptions) *Client {
	c := &Client{generator: g}
	if o == nil {
		return c
	}
	for _, observer := range o.Observers {
		switch {
		case observer == nil:
		case c.observer == nil:
			c.observer = observer
		default:
			c.observer = bothObservers(c.observer, observer)
		}
	}
	if g != nil {
		for i := len(o.Middleware) - 1; i >= 0; i-- {
			c.generator = o.Middleware[i](c.generator)
		}
	}
	return c
}

// Generate returns the whole answer. The error is an [*Error]; a Response beside it is nil.
func (c *Client) Generate(ctx context.Context, req *Request) (*Response, error) {
	resp, err := c.run(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream returns the answer as it arrives. It sends nothing until it is read, and there is nothing to close.
func (c *Client) Stream(ctx context.Context, req *Request) *Stream {
	return &Stream{client: c, ctx: ctx, req: req}
}

// run is one call: validate, observe, generate.
func (c *Client) run(ctx context.Context, req *Request, sink Sink) (*Response, error) {
	if c == nil || c.generator == nil {
		return nil, Invalid("client", "has no generator", "make it with llm.NewClient and a fallback.Chain")
	}
	if ctx == nil {
		return nil, Invalid("ctx", "is nil", "pass context.Background() at the least")
	}
	if c.observer != nil {
		ctx = WithObserver(ctx, c.observer)
	}
	observer := ObserverOf(ctx)
	if observer != nil && observer.CallStart != nil {
		ctx = started(observer.CallStart, ctx, req)
	}
	resp, err := c.generate(ctx, req, sink)
	if observer != nil && observer.CallEnd != nil {
		observer.CallEnd(ctx, resp, err)
	}
	return resp, err
}

func (c *Client) generate(ctx context.Context, req *Request, sink Sink) (*Response, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	resp, err := c.generator.Generate(ctx, req, sink)
	switch {
	case err != nil:
		return resp, asError(err, req)
	case resp == nil:
		return nil, &Error{Kind: ErrBadOutput, Operation: req.Operation, Code: "no_response"}
	default:
		return resp, nil
	}
}

// asError makes a foreign error an [*Error] and leaves the SDK's own and the sink's as they are.
func asError(err error, req *Request) error {
	if err == errLeft { //nolint:errorlint // only the bare sentinel is the sink's own
		return err
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || e == nil:
		return &Error{Kind: KindOf(err), Operation: req.Operation, Err: err}
	case e.Operation == "" && req.Operation != "":
		named := *e // an error that was returned is not changed
		named.Operation = req.Operation
		return &named
	default:
		return e
	}
}
