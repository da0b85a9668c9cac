package azure_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestTheHeadersOfAnErrorAreHeard(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(429, `{"error":{"code":"429","message":"slow down"}}`, "Retry-After", "1", "Retry-After-Ms", "0", "Apim-Request-Id", "r-1"))
	_, _, streamErr := stream(t, s.provider(t), hello())
	_, unaryErr := unary(t, s.provider(t), hello())
	for _, err := range []error{streamErr, unaryErr} {
		e := failed(t, err, llm.ErrRateLimited)
		if e.RetryAfter != time.Second || e.RequestID != "r-1" || e.Status != 429 || e.Code != "429" || e.Message != "slow down" ||
			e.Model != (llm.ModelRef{Provider: "openai", Model: "m"}) || e.NotSent {
			t.Errorf("%+v", e)
		}
	}
}

func TestAnErrorBodyOfAnyKindKeepsTheStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   llm.Kind
	}{
		"empty":         {403, "", llm.ErrAuth},
		"HTML":          {502, "<html>Bad gateway</html>", llm.ErrUnavailable},
		"a list":        {503, `[{"error":{"message":"busy"}}]`, llm.ErrUnavailable},
		"no message":    {500, `{"error":{}}`, llm.ErrUnavailable},
		"message list":  {400, `{"error":{"message":["a","b"]}}`, llm.ErrInvalid},
		"only a string": {404, `"nothing here"`, llm.ErrNotFound},
	} {
		s := serve(t, reply(c.status, c.body, "X-Ms-Request-Id", "r-1"))
		_, err := unary(t, s.provider(t), hello())
		if e := failed(t, err, c.kind); e.Status != c.status || e.RequestID != "r-1" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestARedirectElsewhereIsNoAnswer(t *testing.T) {
	t.Parallel()
	other := serve(t, reply(200, ok))
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", other.URL+"/login")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, ok) // the SDK would take it
	})
	_, unaryErr := unary(t, s.provider(t), hello())
	_, _, streamErr := stream(t, s.provider(t), hello())
	for _, err := range []error{unaryErr, streamErr} {
		if e := failed(t, err, llm.ErrNotFound); e.Status != 302 || e.Code != "redirected" {
			t.Errorf("%+v", e)
		}
	}
	if n := len(other.Requests()); n > 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

func TestAnErrorBodyThatNeverEndsDoesNotHoldTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := keep(t)(azure.Compatible(&azure.CompatibleOptions{
			BaseURL: "http://localhost", Model: "m", HTTP: adaptertest.Paced(500, "text/event-stream", 0),
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := p.Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrUnavailable); e.Status != 500 || time.Since(start) != 100*time.Millisecond {
			t.Errorf("after %v: %+v", time.Since(start), e)
		}
	})
}

func TestWithoutAConnectionNothingWasSent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	p := keep(t)(azure.Compatible(&azure.CompatibleOptions{BaseURL: "http://" + listener.Addr().String(), Model: "m", Key: "sk-secret"}))
	_, unaryErr := unary(t, p, hello())
	_, _, streamErr := stream(t, p, hello())
	for _, err := range []error{unaryErr, streamErr} {
		e := failed(t, err, llm.ErrConnection)
		if !e.NotSent || e.Status != 0 || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%+v", e)
		}
	}
}

func TestAConnectionThatDropsHadTheRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := unary(t, s.provider(t), hello())
	if e := failed(t, err, llm.ErrConnection); e.NotSent {
		t.Errorf("%+v", e)
	}
}

func TestACanceledCallIsCanceledWhateverElseHappened(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(http.ResponseWriter, *http.Request) { cancel(); panic(http.ErrAbortHandler) })
	_, err := s.provider(t).Generate(ctx, hello(), nil)
	wantKind(t, err, llm.ErrCanceled)
}

func TestAfterTheContextEndsNoEventReachesTheSink(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := serve(t, events(text("a")+text("b")+text("c"), stop(), done)).provider(t)
	n := 0
	resp, err := p.Generate(ctx, hello(), func(llm.Event) error { n++; cancel(); return nil })
	wantKind(t, err, llm.ErrCanceled)
	if n != 1 || resp.Text() != "a" {
		t.Errorf("%d events, %+v", n, resp)
	}
}
