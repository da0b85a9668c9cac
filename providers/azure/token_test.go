package azure_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func token(s string) azure.TokenSource {
	return func(context.Context) (string, error) { return s, nil }
}

// entra opens a provider that gets its tokens from source.
func (s *server) entra(t *testing.T, source azure.TokenSource) *azure.Provider {
	t.Helper()
	return keep(t)(azure.New(&azure.Options{Endpoint: s.URL, Deployment: "d", APIVersion: "2024-10-21", Token: source}))
}

const expired = `{"error":{"code":"Unauthorized","message":"Access token is missing, invalid, audience is incorrect, or have expired."}}`

func TestTheTokenIsAskedOnEachRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	var n atomic.Int32
	p := s.entra(t, func(context.Context) (string, error) { return fmt.Sprint("token-", n.Add(1)), nil })
	for i := 1; i <= 2; i++ {
		if _, err := unary(t, p, hello()); err != nil {
			t.Fatal(err)
		}
		if h := s.Last(t).Header; h.Get("Authorization") != fmt.Sprint("Bearer token-", i) || h.Get("Api-Key") != "" {
			t.Errorf("call %d: %v", i, h)
		}
	}
}

func TestAnExpiredTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]http.HandlerFunc{
		"said in the body":   reply(401, expired),
		"said in the header": reply(401, "", "WWW-Authenticate", `Bearer error="invalid_token", error_description="The access token expired"`),
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer token-1" {
				first(w, r)
				return
			}
			reply(200, ok)(w, r)
		})
		var n atomic.Int32
		p := s.entra(t, func(context.Context) (string, error) { return fmt.Sprint("token-", n.Add(1)), nil })
		if _, err := unary(t, p, hello()); err != nil || len(s.Requests()) != 2 {
			t.Errorf("%s: %d requests, %v", name, len(s.Requests()), err)
		}
	}
}

func TestARefusedTokenIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	fresh := func(context.Context) (string, error) { return fmt.Sprint("token-", n.Add(1)), nil }
	for name, c := range map[string]struct {
		source azure.TokenSource
		handle http.HandlerFunc
		want   int
	}{
		"the source has no other":        {token("same"), reply(401, expired), 1},
		"the new one is refused too":     {fresh, reply(401, expired), 2},
		"it is refused for other things": {fresh, reply(403, `{"error":{"code":"403","message":"no role, expired or not"}}`), 1},
	} {
		s := serve(t, c.handle)
		_, err := unary(t, s.entra(t, c.source), hello())
		wantKind(t, err, llm.ErrAuth)
		if len(s.Requests()) != c.want {
			t.Errorf("%s: %d requests, want %d", name, len(s.Requests()), c.want)
		}
	}
}

func TestWithoutATokenNothingIsSent(t *testing.T) {
	t.Parallel()
	cause := errors.New("the vault is shut: secret-of-the-vault")
	for name, source := range map[string]azure.TokenSource{
		"an error":      func(context.Context) (string, error) { return "", cause },
		"an empty one":  token(""),
		"one of 2 rows": token("a\nb"),
	} {
		s := serve(t, reply(200, ok))
		_, err := unary(t, s.entra(t, source), hello())
		e := failed(t, err, llm.ErrAuth)
		if len(s.Requests()) != 0 || !e.NotSent || e.Model.Model != "d" {
			t.Errorf("%s: %d requests, %+v", name, len(s.Requests()), e)
		}
		if strings.Contains(err.Error(), "vault") {
			t.Errorf("%s: the text of the source's error is in ours: %v", name, err)
		}
		if name == "an error" && !errors.Is(err, cause) {
			t.Errorf("the cause cannot be reached: %v", err)
		}
	}
}

func TestATokenSourceThatHangsDoesNotHoldTheCall(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	release := make(chan struct{})
	left := make(chan struct{})
	p := s.entra(t, func(context.Context) (string, error) {
		defer close(left)
		<-release // deaf to its context
		return "late", nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Generate(ctx, hello(), nil)
	e := failed(t, err, llm.ErrDeadlineExceeded)
	if !e.NotSent || len(s.Requests()) != 0 {
		t.Errorf("%d requests, %+v", len(s.Requests()), e)
	}
	close(release)
	<-left
}

func TestAPanicOfTheTokenSourceIsTheCallers(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.entra(t, func(context.Context) (string, error) { panic("mine") })
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, _ = unary(t, p, hello())
	t.Error("no panic")
}

// A source that knows what is wrong is heard: a token service that is down is no wrong credential.
func TestASourceMaySayItself(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	own := &llm.Error{Kind: llm.ErrUnavailable, Code: "token_service"}
	_, err := unary(t, s.entra(t, func(context.Context) (string, error) { return "", own }), hello())
	e, isError := errors.AsType[*llm.Error](err)
	if !isError || e.Kind != llm.ErrUnavailable || e.Code != "token_service" || !e.NotSent || e.Model.Model != "d" {
		t.Errorf("%v", err)
	}
	if own.NotSent || own.Model.Model != "" {
		t.Error("the caller's error was changed")
	}
}
