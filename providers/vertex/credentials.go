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

// credential asks the source, if there is one. A source that does not obey its context is left behind, on a
// goroutine of its own, when the context ends.
func (p *Provider) credential(ctx context.Context) (credential, error) {
	if p.credentials == nil {
		return credential{}, nil
	}
	type result struct {
		credential credential
		err        error
		panicked   any
		done       bool
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
		r.credential, r.err = p.credentials(ctx)
		r.done = true
	}()
	var r result
	select {
	case r = <-got:
	case <-ctx.Done():
		return credential{}, ended(ctx, true)
	}
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
	if e, ok := err.(*llm.Error); ok && e.Kind == llm.ErrAuth { //nolint:errorlint // of defaultCredentials, not wrapped
		return e
	}
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: err}
}

func badToken(problem string) error {
	return &llm.Error{Kind: llm.ErrAuth, Code: "no_token", NotSent: true, Err: &llm.FieldError{
		Field: "token", Problem: problem, Next: "check the source of tokens",
	}}
}
