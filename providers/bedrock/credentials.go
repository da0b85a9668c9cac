package bedrock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/punctual-llm/punctual/llm"
)

// cached puts AWS's cache in front of a source. Retrieve of the cache returns when its context ends, whatever the
// source does.
func cached(source aws.CredentialsProvider) *aws.CredentialsCache {
	if c, ok := source.(*aws.CredentialsCache); ok && c != nil {
		return c
	}
	return aws.NewCredentialsCache(guarded{source})
}

// guarded is a source whose panics are errors. The cache asks it on a goroutine of its own, where a panic (of a nil
// pointer in the interface, say) would end the whole program.
type guarded struct{ source aws.CredentialsProvider }

// Retrieve asks the source.
func (g guarded) Retrieve(ctx context.Context) (c aws.Credentials, err error) {
	defer func() {
		if recover() != nil {
			c, err = aws.Credentials{}, errSourcePanic
		}
	}()
	return g.source.Retrieve(ctx)
}

// HandleFailToRefresh passes on what a source may do for the cache.
func (g guarded) HandleFailToRefresh(ctx context.Context, old aws.Credentials, err error) (aws.Credentials, error) {
	if s, ok := g.source.(aws.HandleFailRefreshCredentialsCacheStrategy); ok && !errors.Is(err, errSourcePanic) {
		return s.HandleFailToRefresh(ctx, old, err)
	}
	return aws.Credentials{}, err
}

// AdjustExpiresBy passes on what a source may do for the cache.
func (g guarded) AdjustExpiresBy(c aws.Credentials, d time.Duration) (aws.Credentials, error) {
	if s, ok := g.source.(aws.AdjustExpiresByCredentialsCacheStrategy); ok {
		return s.AdjustExpiresBy(c, d)
	}
	if c.CanExpire {
		c.Expires = c.Expires.Add(d)
	}
	return c, nil
}

// errSourcePanic stands for a panic of a source. Its text is not kept: it may hold anything.
var errSourcePanic = errors.New("bedrock: the source of credentials panicked")

// chain is AWS's standard chain, loaded when it is first needed and once for all calls.
type chain struct {
	profile string

	mu      sync.Mutex
	loading *loading
}

type loading struct {
	done   chan struct{}
	config aws.Config
	cache  *aws.CredentialsCache
	err    error
}

// loadTime bounds a load of the chain whose callers have gone.
const loadTime = time.Minute

// load returns the loaded chain. A load that failed is tried again by the next call; one that hangs is left behind,
// on a goroutine of its own, when the context ends.
func (c *chain) load(ctx context.Context, region string) (*loading, error) {
	c.mu.Lock()
	l := c.loading
	if l == nil || l.failed() {
		l = &loading{done: make(chan struct{})}
		c.loading = l
		go l.run(context.WithoutCancel(ctx), region, c.profile)
	}
	c.mu.Unlock()
	select {
	case <-l.done:
		return l, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *loading) failed() bool {
	select {
	case <-l.done:
		return l.err != nil
	default:
		return false
	}
}

func (l *loading) run(ctx context.Context, region, profile string) {
	defer close(l.done)
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	l.err = errPanic // stays if the SDK panics
	defer func() { _ = recover() }()
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})} // its own prints on stderr
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	if l.config, l.err = config.LoadDefaultConfig(ctx, options...); l.err == nil && l.config.Credentials != nil {
		l.cache = cached(l.config.Credentials)
	}
}

// session is what a call is made with.
type session struct {
	region      string
	token       string
	cache       *aws.CredentialsCache // nil: a token
	credentials aws.Credentials
}

// session gets the credentials, or says why there are none. Nothing has been sent then.
func (p *Provider) session(ctx context.Context) (session, error) {
	s := session{region: p.region, token: *p.token, cache: p.credentials}
	if s.token == "" && s.cache == nil {
		l, err := p.chain.load(ctx, p.region)
		switch {
		case ctx.Err() != nil:
			return s, ended(ctx, true)
		case err != nil:
			return s, noCredentials(err)
		}
		if s.region == "" {
			s.region = l.config.Region
		}
		s.cache = l.cache
	}
	switch {
	case s.region == "":
		return s, &llm.Error{Kind: llm.ErrNotFound, Code: "no_region", NotSent: true, Err: &llm.FieldError{
			Field: "region", Problem: "is set nowhere", Next: "set it, or AWS_REGION, or region in the profile",
		}}
	case !isHostLabel(s.region): // of a profile
		return s, badRegion()
	case s.token != "":
		return s, nil
	case s.cache == nil:
		return s, noCredentials(nil)
	}
	return s, s.retrieve(ctx)
}

func (s *session) retrieve(ctx context.Context) (err error) {
	s.credentials, err = retrieve(ctx, s.cache)
	switch {
	case ctx.Err() != nil:
		return ended(ctx, true)
	case err != nil:
		return noCredentials(err)
	case !s.credentials.HasKeys():
		return noCredentials(nil)
	}
	return checkCredentials(&s.credentials)
}

// checkCredentials refuses what no header can carry: the network would seem to be at fault.
func checkCredentials(c *aws.Credentials) error {
	for _, part := range []struct{ field, value string }{
		{"access_key_id", c.AccessKeyID}, {"secret_access_key", c.SecretAccessKey}, {"session_token", c.SessionToken},
	} {
		if strings.ContainsFunc(part.value, notGraphic) {
			return &llm.Error{Kind: llm.ErrAuth, Code: "bad_credentials", NotSent: true, Err: &llm.FieldError{
				Field: part.field, Problem: "has blanks, line ends or other characters that no key has", Next: "copy it again, without them",
			}}
		}
	}
	return nil
}

func retrieve(ctx context.Context, cache *aws.CredentialsCache) (c aws.Credentials, err error) {
	defer recovered(&err)
	return cache.Retrieve(ctx)
}

// renew replaces credentials that the service found too old. It is false if there are no others.
func (s *session) renew(ctx context.Context) bool {
	if s.cache == nil {
		return false
	}
	refused := s.credentials
	same := func() bool {
		return refused.AccessKeyID == s.credentials.AccessKeyID && refused.SessionToken == s.credentials.SessionToken
	}
	// Another call may have renewed them already.
	if err := s.retrieve(ctx); err == nil && !same() {
		return true
	}
	s.cache.Invalidate()
	return s.retrieve(ctx) == nil && !same()
}

func noCredentials(err error) error {
	code, field := "no_credentials", &llm.FieldError{
		Field: "credentials", Problem: "none could be had",
		Next: "set " + envToken + ", AWS_PROFILE, or AWS_ACCESS_KEY_ID and _SECRET_ACCESS_KEY",
	}
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		code, field = "no_profile", &llm.FieldError{
			Field: "profile", Problem: "does not exist in AWS's files of configuration and credentials",
			Next: "check the option, AWS_PROFILE and the files",
		}
	}
	return &llm.Error{Kind: llm.ErrAuth, Code: code, NotSent: true, Err: errors.Join(field, err)}
}
