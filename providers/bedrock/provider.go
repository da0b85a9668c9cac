package bedrock

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/punctual-llm/punctual/llm"
)

// Provider is an llm.Generator for one model. It is safe for concurrent use.
type Provider struct {
	model       llm.ModelRef
	family      family
	region      string // "": that of the chain
	endpoint    string
	token       *string               // "": credentials; a pointer, so that no %+v of a Provider prints it
	credentials *aws.CredentialsCache // nil: the chain's
	guardrail   *Guardrail
	parameters  json.RawMessage // an object, or nothing
	http        doer
	closeIdle   func()

	chain  chain
	once   sync.Once
	client *bedrockruntime.Client
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
	s, err := p.session(ctx)
	if err != nil {
		return nil, p.named(err)
	}
	p.once.Do(func() { p.client = p.newClient(s.region) }) // the region of the first success stays
	resp, again, err := p.attempt(ctx, enc, &s, sink)
	switch {
	case again == expired && s.renew(ctx), again == skewed && ctx.Err() == nil:
		// The credentials were good when their source gave them out, or the clock of this machine is wrong, which the SDK
		// has noticed by now: one more try.
		resp, _, err = p.attempt(ctx, enc, &s, sink)
	}
	return resp, err
}

// attempt asks once. The remedy says what might help if the service refused the credentials.
func (p *Provider) attempt(
	ctx context.Context, enc *encoded, s *session, sink llm.Sink,
) (resp *llm.Response, again remedy, err error) {
	inner, w := onWire(ctx, enc.body, s)
	a := &answer{ctx: ctx, wire: w, model: p.model, enc: enc, warnings: enc.warnings, sink: sink}
	err = ask(inner, p.client, p.model.Model, sink != nil)
	switch {
	case w.reply == nil:
		resp, err = a.refused(err)
	case sink == nil:
		resp, err = a.unary()
	default:
		resp, err = a.stream()
	}
	switch e := err.(type) { //nolint:errorlint // made by answer, not wrapped
	case sinkError:
		return resp, none, e.error
	case *llm.Error:
		again = remedyFor(e, w.Header())
		w.secret.CleanError(e)
		return resp, again, p.named(e)
	}
	return resp, none, err
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
