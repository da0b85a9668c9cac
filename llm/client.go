package llm

import (
	"cmp"
	"context"
	"errors"
)

// Client is what applications hold. It validates requests, tells observers and folds streams; limits,
// retries and fallback are the Generator's, so give it a fallback.Chain. It is safe for concurrent use. The
// zero Client answers every call with [ErrInvalid].
type Client struct {
	generator Generator
	observers *observers // nil: none of its own
}

// ClientOptions configures a Client. The zero value, like nil, adds nothing.
type ClientOptions struct {
	Observers  []*Observer                 // told of every call, in order, after those of the context; nil ones are skipped
	Middleware []func(Generator) Generator // around the Generator; the first is outermost; nil ones are skipped
}

// NewClient returns a Client over g. With a nil g it answers every call with [ErrInvalid].
func NewClient(g Generator, o *ClientOptions) *Client {
	c := &Client{generator: g}
	if o == nil {
		return c
	}
	for _, observer := range o.Observers {
		c.observers = c.observers.with(observer)
	}
	for i := len(o.Middleware) - 1; i >= 0 && c.generator != nil; i-- {
		if wrap := o.Middleware[i]; wrap != nil {
			c.generator = wrap(c.generator)
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
// The request is looked at when reading begins, so leave it alone until then.
func (c *Client) Stream(ctx context.Context, req *Request) *Stream {
	return &Stream{client: c, ctx: ctx, req: req}
}

// run is one call: validate, observe, generate.
func (c *Client) run(ctx context.Context, req *Request, sink Sink) (resp *Response, err error) {
	switch {
	case c == nil || c.generator == nil:
		return nil, Invalid("client", "has no generator", "make it with NewClient and give it a chain")
	case ctx == nil:
		return nil, Invalid("ctx", "is nil", "pass context.Background() at the least")
	case req == nil:
		return nil, Invalid("request", "is nil", "pass a request with at least one message")
	}
	ctx, observer := c.observers.join(ctx)
	if observer == nil {
		return c.generate(ctx, req, sink)
	}
	if observer.CallStart != nil {
		ctx = started(ctx, observer.CallStart, req)
	}
	if observer.CallEnd != nil {
		// A panic and runtime.Goexit pass through as they are, and still end the call for the observers.
		err = panicked(req)
		defer func() { observer.CallEnd(ctx, resp, err) }()
	}
	return c.generate(ctx, req, sink)
}

func (c *Client) generate(ctx context.Context, req *Request, sink Sink) (*Response, error) {
	if err := req.validate(); err != nil {
		return nil, err
	}
	resp, err := c.generator.Generate(ctx, req, sink)
	switch {
	case err != nil:
		return resp, callError(err, resp, req)
	case resp == nil:
		return nil, &Error{Kind: ErrBadOutput, Operation: req.Operation, Code: "no_response"}
	default:
		return resp, nil
	}
}

// panicked is the outcome of a call that a panic or runtime.Goexit ended.
func panicked(req *Request) *Error {
	return &Error{Kind: ErrUnknown, Operation: req.Operation, Code: "panicked"}
}

// callError is err as a call ends with it: an [*Error] that names the operation and holds what had arrived.
// An error that was returned is never changed, since it may be shared: what is missing goes into a copy.
func callError(err error, resp *Response, req *Request) error {
	e, ok := errors.AsType[*Error](err)
	bare := err == error(e) //nolint:errorlint // is it the Error itself, or one wrapped by something?
	switch {
	case !ok:
		e = &Error{Kind: KindOf(err)}
	case e == nil: // a nil *Error in a non-nil error: a generator's slip, and no success
		e = &Error{Kind: ErrUnknown, Code: "nil_error"}
	case bare && e != errLeft && (e.Operation != "" || req.Operation == "") && (e.Partial != nil || resp == nil):
		return e
	}
	own := *e
	if !bare {
		own.Err = err // what stands around it stays within reach of errors.Is and errors.As
	}
	if own.Operation == "" {
		own.Operation = req.Operation
	}
	if resp != nil && len(own.Attempts) == 0 { // the trail of a call that the sink ended comes with what it took
		own.Attempts, own.Skipped = resp.Attempts, resp.Skipped
		own.Target, own.Model = cmp.Or(own.Target, resp.Target), cmp.Or(own.Model, resp.Model)
	}
	if own.Partial == nil {
		own.Partial = resp.withoutOpenCalls()
	}
	return &own
}
