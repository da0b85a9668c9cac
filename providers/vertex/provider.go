package vertex

import (
	"context"
	"net/http"
	"sync"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// Provider is an llm.Generator for one model. It is safe for concurrent use.
type Provider struct {
	model       llm.ModelRef
	conn        gemini.Conn
	credentials source             // nil: a key
	key         *secret.Credential // a pointer, so that no %+v of a Provider prints it
	bytes       bool               // conn carries parts that stand for bytes
	form        gemini.Form
	prefix      string // of resources of the project and location
	family      string // of the model, for signatures
	parameters  members

	mu     sync.Mutex
	asking *asking // the call of the source that is on its way, or nil
}

// Close closes connections that no call uses, unless they belong to a client that was given in the options.
// With the default engine the Provider goes on working.
func (p *Provider) Close() error { return p.conn.Close() }

// Generate makes one attempt. It obeys the contract of llm.Generator: see there.
func (p *Provider) Generate(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	if ctx.Err() != nil {
		return nil, p.named(ended(ctx, true))
	}
	enc, err := p.encode(ctx, req)
	switch {
	case ctx.Err() != nil: // a long prompt takes its time
		return nil, p.named(ended(ctx, true))
	case err != nil:
		return nil, p.named(err)
	}
	cred, err := p.credential(ctx)
	if err != nil {
		return nil, p.named(err)
	}
	resp, refused, err := p.attempt(ctx, enc, cred, sink)
	if !refused || p.credentials == nil {
		return resp, err
	}
	// The token was good when the source gave it out and is not any more: one more try with a newer one.
	renewed, tokenErr := p.credential(ctx)
	if tokenErr != nil || renewed.token == cred.token {
		return resp, err
	}
	resp, _, err = p.attempt(ctx, enc, renewed, sink)
	return resp, err
}

// attempt asks once. refused: the service did not take the token. Google has many words for one that is too old,
// so every 401 counts.
func (p *Provider) attempt(
	ctx context.Context, enc *encoded, cred credential, sink llm.Sink,
) (resp *llm.Response, refused bool, err error) {
	a := &answer{
		ctx: ctx, model: p.model, gemini: p.form == gemini.FormGemini,
		credential: *p.key, names: enc.names, warnings: enc.warnings, sink: sink, open: -1,
		reply: p.conn.Do(ctx, &gemini.Call{
			Body: enc.body, Prepared: enc.prepared, Stream: sink != nil, Token: cred.token, QuotaProject: cred.quotaProject,
		}),
	}
	if cred.token != "" {
		a.credential = secret.Of(cred.token)
	}
	resp, err = a.read()
	switch e := err.(type) { //nolint:errorlint // made by answer, not wrapped
	case sinkError:
		return resp, false, e.error
	case *llm.Error:
		a.credential.CleanError(e)
		return resp, e.Status == http.StatusUnauthorized && resp == nil, p.named(e)
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
