package azure

import (
	"context"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/llm"
)

// Provider is an llm.Generator for one deployment. It is safe for concurrent use.
type Provider struct {
	model      llm.ModelRef
	client     *openai.Client
	token      TokenSource // nil: a key
	key        *string     // a pointer, so that no %+v of a Provider prints it
	form       form
	parameters members
	closeIdle  func()
}

// Close closes connections that no call uses, unless they belong to a client that was given in the options. The
// Provider goes on working. It returns nil.
func (p *Provider) Close() error {
	if p.closeIdle != nil {
		p.closeIdle()
	}
	return nil
}

// Generate makes one attempt. It obeys the contract of llm.Generator: see there.
func (p *Provider) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	if ctx.Err() != nil {
		return nil, p.named(ended(ctx, true))
	}
	enc, err := p.encode(ctx, req, sink != nil)
	switch {
	case ctx.Err() != nil: // a long prompt takes its time
		return nil, p.named(ended(ctx, true))
	case err != nil:
		return nil, p.named(err)
	}
	token, err := p.bearer(ctx)
	if err != nil {
		return nil, p.named(err)
	}
	resp, expired, err := p.attempt(ctx, enc, token, sink)
	if !expired || p.token == nil {
		return resp, err
	}
	// The token was good when the source gave it out and is not any more: one more try with a newer one.
	renewed, tokenErr := p.bearer(ctx)
	if tokenErr != nil || renewed == token {
		return resp, err
	}
	resp, _, err = p.attempt(ctx, enc, renewed, sink)
	return resp, err
}

// attempt asks once. expired: the service found the token too old.
func (p *Provider) attempt(
	ctx context.Context, enc *encoded, token string, sink llm.Sink,
) (resp *llm.Response, expired bool, err error) {
	inner, w := p.onWire(ctx, enc.body, token)
	a := &answer{ctx: ctx, wire: w, model: p.model, names: enc.names, warnings: enc.warnings, sink: sink}
	if sink == nil {
		resp, err = a.unary(inner, p.client)
	} else {
		resp, err = a.stream(inner, p.client)
	}
	switch e := err.(type) { //nolint:errorlint // made by answer, not wrapped
	case sinkError:
		return resp, false, e.error
	case *llm.Error:
		expired = saysExpired(e, w.Header())
		w.secret.CleanError(e)
		return resp, expired, p.named(e)
	}
	return resp, false, err
}

// sinkError marks an error that the sink returned, which goes back as it was.
type sinkError struct{ error }

// named adds the model to an error of ours.
func (p *Provider) named(err error) error {
	if e, ok := err.(*llm.Error); ok { //nolint:errorlint // our own, made a moment ago
		e.Model = p.model
	}
	return err
}

// bearer asks the token source, if there is one. A source that does not obey its context is left behind, on a
// goroutine of its own, when the context ends.
func (p *Provider) bearer(ctx context.Context) (string, error) {
	if p.token == nil {
		return "", nil
	}
	type result struct {
		token    string
		err      error
		panicked any
		done     bool
	}
	got := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if !r.done {
				r.panicked = recover()
			}
			got <- r
		}()
		r.token, r.err = p.token(ctx)
		r.done = true
	}()
	var r result
	select {
	case r = <-got:
	case <-ctx.Done():
		return "", ended(ctx, true)
	}
	switch {
	case !r.done && r.panicked != nil:
		panic(r.panicked) // the caller's code, so the caller's panic
	case ctx.Err() != nil:
		return "", ended(ctx, true)
	case !r.done || r.err != nil:
		return "", noToken(r.err)
	case r.token == "":
		return "", tokenError("is empty")
	case checkSecret("token", r.token) != nil:
		return "", tokenError("has characters that no token has")
	}
	return r.token, nil
}

// noToken is the error of a source that gave none. One that says itself what is wrong is heard.
func noToken(err error) error {
	if e, ok := err.(*llm.Error); ok && e != nil { //nolint:errorlint // not wrapped
		own := *e // it may be the caller's, who gives it to others too
		own.NotSent = true
		return &own
	}
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: err}
}

func tokenError(problem string) error {
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: &llm.FieldError{
		Field: "token", Problem: problem, Next: "check the source of tokens",
	}}
}
