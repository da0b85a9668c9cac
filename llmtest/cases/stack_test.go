package cases_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// stack is the whole way of a call: client, chain, breakers, adapters, and the fakes they call.
type stack struct {
	c        *faultCase
	fakes    map[string]*fake
	chain    *fallback.Chain
	client   *llm.Client
	breakers *breaker.Set
	closers  []func()

	mu     sync.Mutex
	opened map[string]opening // by target: the first one
}

// opening is when a breaker opened, and how many requests its target had seen.
type opening struct {
	at       time.Time
	requests int
}

// models are used where a case names none.
var models = map[string]string{
	"azure": "dep", "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "vertex": "gemini-2.5-flash",
}

func (c *callForm) model(provider string) string { return cmp.Or(c.Models[provider], models[provider]) }

// open builds the stack of a case. rpc calls Vertex over gRPC.
func open(c *faultCase, variant variant) (s *stack, err error) {
	s = &stack{c: c, fakes: map[string]*fake{}, opened: map[string]opening{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, name := range slices.Concat(c.Call.Providers, slices.Collect(maps.Keys(c.Wire))) {
		if s.fakes[name] == nil {
			if s.fakes[name], err = startFake(name, c); err != nil {
				return nil, err
			}
		}
	}
	set := &c.Call.Settings
	s.breakers = breaker.NewSet(&breaker.Options{Threshold: set.BreakerThreshold, OpenFor: ms(set.BreakerOpenMS), OnChange: s.changed})
	var targets []fallback.Target
	for _, name := range c.Call.Providers {
		t, err := s.target(name, variant)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	s.chain, err = fallback.New(targets, &fallback.Options{
		Plans:    policy.Plans{Default: s.plan(variant), Operations: map[llm.Operation]policy.Plan{llm.Operation(c.Call.Op): s.plan(variant)}},
		Breakers: s.breakers, RetryTokens: set.RetryTokens,
	})
	if err != nil {
		return nil, err
	}
	s.client = llm.NewClient(s.chain, nil)
	return s, nil
}

func (s *stack) plan(variant variant) policy.Plan {
	call, set := &s.c.Call, &s.c.Call.Settings
	p := policy.Plan{
		Limits: llm.Limits{
			Attempt: ms(call.TimeoutMS), FirstContent: ms(set.HeaderTimeoutMS), Idle: ms(set.IdleTimeoutMS),
			Total: ms(call.BudgetMS), // a case knows no other limit of the whole call
		},
		Backoff: policy.Backoff{Base: ms(call.BackoffMS)},
		Watch:   policy.WatchOff,
	}
	if variant.watch {
		p.Watch = policy.WatchOn
	}
	if call.MaxAttempts == 1 {
		p.MaxRetries = policy.NoRetries
	} else if call.MaxAttempts > 1 {
		p.MaxRetries = call.MaxAttempts - 1
	}
	if call.Fallback != nil && !*call.Fallback {
		p.Targets = call.Providers[:1]
	}
	return p
}

func (s *stack) changed(c breaker.Change) {
	if c.To != breaker.Open {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.opened[c.Name]; !ok {
		s.opened[c.Name] = opening{at: time.Now(), requests: s.fakes[c.Name].count()}
	}
}

// opening is the first opening of a target's breaker.
func (s *stack) opening(target string) (opening, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.opened[target]
	return o, ok
}

// target opens the adapter of one provider.
func (s *stack) target(name string, variant variant) (fallback.Target, error) {
	t := fallback.Target{Name: name, Prompt: true, Can: llm.Capabilities{Streams: true}}
	var err error
	switch name {
	case "azure":
		t.Generator, err = s.azure()
	case "bedrock":
		t.Generator, err = s.bedrock()
	default:
		t.Generator, err = s.vertex(variant.rpc)
	}
	t.Model = llm.ModelRef{Provider: name, Model: s.c.Call.model(name)}
	return t, err
}

// http is the client that a user hands to an adapter, nil for its own.
func (s *stack) http(name string) *http.Client {
	if host := s.c.wantsHost(name); host {
		return s.redirecting(name)
	}
	set := &s.c.Call.Settings
	if !set.ownClient() {
		return nil
	}
	return s.custom()
}

func (s *stack) custom() *http.Client {
	transport := &http.Transport{MaxConnsPerHost: s.c.Call.Settings.MaxConnsPerHost}
	s.closers = append(s.closers, transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// redirecting is a client whose requests, for whatever host, end at the fake.
func (s *stack) redirecting(name string) *http.Client {
	at, err := url.Parse(s.fakes[name].server.URL)
	if err != nil {
		panic(err)
	}
	c := s.custom()
	next := c.Transport
	c.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		r := req.Clone(req.Context())
		r.Host = cmp.Or(req.Host, req.URL.Host)
		r.URL.Scheme, r.URL.Host = at.Scheme, at.Host
		return next.RoundTrip(r)
	})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// wantsHost reports whether a reply of the provider looks at the name of the host, which then is not that of the fake.
func (c *faultCase) wantsHost(name string) bool {
	for i := range c.Wire[name] {
		var host string
		if raw, ok := c.Wire[name][i].Expect["configured_host"]; ok && json.Unmarshal(raw, &host) == nil {
			return true
		}
	}
	return false
}

func (s *stack) azure() (llm.Generator, error) {
	o := &azure.Options{
		Endpoint: s.fakes["azure"].server.URL, Deployment: s.c.Call.model("azure"), APIVersion: "2024-10-21", Key: "key",
		HTTP: s.http("azure"),
	}
	if leases := s.c.Call.Settings.TokenSource; len(leases) > 0 {
		o.Key, o.Token = "", newLeases(leases).token
	}
	p, err := azure.New(o)
	if err == nil {
		s.closers = append(s.closers, func() { _ = p.Close() })
	}
	return p, err
}

func (s *stack) bedrock() (llm.Generator, error) {
	leases := newLeases(s.c.Call.Settings.Credentials)
	o := &bedrock.Options{
		Region: cmp.Or(s.c.Call.Settings.Location, "us-east-1"), Model: s.c.Call.model("bedrock"),
		Credentials: aws.CredentialsProviderFunc(leases.credentials), HTTP: s.http("bedrock"),
	}
	if !s.c.wantsHost("bedrock") {
		o.Endpoint = s.fakes["bedrock"].server.URL
	}
	p, err := bedrock.New(o)
	if err == nil {
		s.closers = append(s.closers, func() { _ = p.Close() })
	}
	return p, err
}

func (s *stack) vertex(rpc bool) (llm.Generator, error) {
	o := &vertex.Options{
		Project: "p1", Location: cmp.Or(s.c.Call.Settings.Location, "us-central1"), Model: s.c.Call.model("vertex"),
		TokenSource: newLeases(s.c.Call.Settings.TokenSource).token, HTTP: s.http("vertex"),
	}
	if !s.c.wantsHost("vertex") {
		o.Endpoint = s.fakes["vertex"].server.URL
	}
	if rpc {
		o.Engine = vertexai.Engine
	}
	p, err := vertex.New(o)
	if err == nil {
		s.closers = append(s.closers, func() { _ = p.Close() })
	}
	return p, err
}

// closeIdle closes the connections on which there is nothing.
func (s *stack) closeIdle() {
	for _, f := range s.closers {
		f()
	}
}

func (s *stack) close() {
	s.closeIdle()
	for _, f := range s.fakes {
		f.close()
	}
}

// leases gives out credentials one after the other, each as long as it is valid.
type leases struct {
	mu    sync.Mutex
	all   []lease
	since time.Time // when the first of all was given out
}

func newLeases(all []lease) *leases {
	if len(all) == 0 {
		all = []lease{{value: "AKIDEXAMPLE"}}
	}
	return &leases{all: all}
}

func (l *leases) current() (value string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
	}
	for len(l.all) > 1 && l.all[0].valid > 0 && !now.Before(l.since.Add(l.all[0].valid)) {
		l.all, l.since = l.all[1:], now
	}
	if l.all[0].valid > 0 {
		until = l.since.Add(l.all[0].valid)
	}
	return l.all[0].value, until
}

func (l *leases) token(context.Context) (string, error) {
	value, _ := l.current()
	return value, nil
}

func (l *leases) credentials(context.Context) (aws.Credentials, error) {
	value, until := l.current()
	return aws.Credentials{
		AccessKeyID: value, SecretAccessKey: "secret", SessionToken: "session-" + value, CanExpire: !until.IsZero(), Expires: until,
	}, nil
}
