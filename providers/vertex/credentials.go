package vertex

import (
	"context"
	"sync"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"github.com/punctual-llm/punctual/llm"
)

// credential is what authorises one request.
type credential struct {
	token        string
	quotaProject string
}

// source gives out credentials. It may hang: see Provider.credential.
type source func(ctx context.Context) (credential, error)

func given(ts TokenSource) source {
	return func(ctx context.Context) (credential, error) {
		token, err := ts(ctx)
		return credential{token: token}, err
	}
}

// cloudScope is what a token must be good for.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// defaultCredentials are Application Default Credentials, looked for when the first call needs them: to look may
// take seconds, since one of the places is a server on the network. What is not there may come later.
type defaultCredentials struct {
	mu    sync.Mutex
	found *auth.Credentials
}

func (d *defaultCredentials) find() (*auth.Credentials, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found == nil {
		found, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{cloudScope}})
		if err != nil {
			return nil, err
		}
		d.found = found
	}
	return d.found, nil
}

func (d *defaultCredentials) token(ctx context.Context) (credential, error) {
	found, err := d.find()
	if err != nil {
		return credential{}, &llm.Error{Kind: llm.ErrAuth, Code: "no_credentials", NotSent: true, Err: &llm.FieldError{
			Field: "credentials", Problem: "none were found",
			Next: "run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
		}}
	}
	token, err := found.Token(ctx)
	if err != nil {
		return credential{}, err
	}
	quota, err := found.QuotaProjectID(ctx)
	if err != nil {
		quota = "" // then it is the credential's own
	}
	return credential{token: token.Value, quotaProject: quota}, nil
}

// asking is one call of the source. All calls that need it while it lasts share it: a source that hangs holds one
// goroutine, not one for each of them.
type asking struct {
	ctx  context.Context //nolint:containedctx // of the call that began it
	over chan struct{}

	// These are for reading when it is over.
	credential credential
	err        error
	panicked   any
	done       bool
}

// ask joins the call of the source that is on its way, or begins one.
func (p *Provider) ask(ctx context.Context) *asking {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking == nil {
		p.asking = &asking{ctx: ctx, over: make(chan struct{})}
		go p.run(p.asking)
	}
	return p.asking
}

func (p *Provider) run(a *asking) {
	defer func() {
		if !a.done {
			a.panicked = recover()
		}
		p.mu.Lock()
		p.asking = nil
		p.mu.Unlock()
		close(a.over)
	}()
	a.credential, a.err = p.credentials(a.ctx)
	a.done = true
}

// credential asks the source, if there is one. A source that does not obey its context is left behind, on a
// goroutine of its own, when the context ends.
func (p *Provider) credential(ctx context.Context) (credential, error) {
	if p.credentials == nil {
		return credential{}, nil
	}
	for {
		r := p.ask(ctx)
		select {
		case <-r.over:
		case <-ctx.Done():
			return credential{}, ended(ctx, true)
		}
		if r.err != nil && r.ctx.Err() != nil && ctx.Err() == nil {
			continue // it ended with the call that began it
		}
		return r.result(ctx)
	}
}

// result is what the source gave, as far as it is fit to be sent.
func (r *asking) result(ctx context.Context) (credential, error) {
	switch {
	case !r.done && r.panicked != nil:
		panic(r.panicked) // the caller's code, so the caller's panic
	case ctx.Err() != nil:
		return credential{}, ended(ctx, true)
	case !r.done || r.err != nil:
		return credential{}, noToken(r.err)
	case r.credential.token == "":
		return credential{}, badToken("is empty")
	case checkSecret("token", r.credential.token) != nil:
		return credential{}, badToken("has characters that no token has")
	}
	return r.credential, nil
}

// noToken is the error of a source that gave none.
func noToken(err error) error {
	if e, ok := err.(*llm.Error); ok && e.Kind == llm.ErrAuth { //nolint:errorlint // not wrapped
		own := *e // it may be the caller's, who gives it to others too
		own.NotSent = true
		return &own
	}
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: err}
}

func badToken(problem string) error {
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: &llm.FieldError{
		Field: "token", Problem: problem, Next: "check the source of tokens",
	}}
}
