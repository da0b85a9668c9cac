package vertex_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func tokens(ts vertex.TokenSource) func(*vertex.Options) {
	return func(o *vertex.Options) { o.APIKey, o.TokenSource = "", ts }
}

func TestATokenIsAskedForOnEachRequest(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(context.Context) (string, error) { return fmt.Sprintf("t%d", n.Add(1)), nil }))
	for i := 1; i <= 2; i++ {
		if _, err := unary(t, p, hello()); err != nil {
			t.Fatal(err)
		}
		if got := s.Last(t).Header; got.Get("Authorization") != fmt.Sprintf("Bearer t%d", i) || got.Get("X-Goog-Api-Key") != "" {
			t.Errorf("headers %v", got)
		}
	}
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	const refusal = `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`
	for name, test := range map[string]struct {
		tokens []string // given out, the last for ever
		good   string
		sent   int
		kind   llm.Kind
	}{
		"renewed":     {[]string{"old", "new"}, "new", 2, ""},
		"same again":  {[]string{"old", "old"}, "new", 1, llm.ErrAuth},
		"never good":  {[]string{"old", "new", "newer"}, "other", 2, llm.ErrAuth},
		"good before": {[]string{"new"}, "new", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+test.good {
					reply(401, refusal)(w, r)
					return
				}
				reply(200, ok)(w, r)
			})
			p := s.provider(t, tokens(func(context.Context) (string, error) {
				return test.tokens[min(int(n.Add(1)), len(test.tokens))-1], nil
			}))
			_, err := unary(t, p, hello())
			if llm.KindOf(err) != test.kind || len(s.Requests()) != test.sent {
				t.Errorf("%v after %d requests", err, len(s.Requests()))
			}
		})
	}
}

func TestASourceThatGivesNoToken(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	s := serve(t, reply(200, ok))
	for name, source := range map[string]vertex.TokenSource{
		"error": func(context.Context) (string, error) { return "", mine },
		"empty": func(context.Context) (string, error) { return "", nil },
		"blank": func(context.Context) (string, error) { return "secret\n", nil },
	} {
		_, err := unary(t, s.provider(t, tokens(source)), hello())
		e := failed(t, err, llm.ErrAuth)
		if e.Code != "no_token" || !e.NotSent || strings.Contains(err.Error(), "secret") || name == "error" && !errors.Is(err, mine) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if len(s.Requests()) > 0 {
		t.Error("something was sent")
	}
}

func TestASourceThatHangsHoldsNoCall(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(context.Context) (string, error) { <-release; return "t", nil }))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Generate(ctx, hello(), nil)
	if e := failed(t, err, llm.ErrDeadlineExceeded); !e.NotSent || len(s.Requests()) > 0 {
		t.Errorf("%+v", e)
	}
}

func TestAPanicOfTheSourceIsTheCallers(t *testing.T) {
	t.Parallel()
	p := serve(t, reply(200, ok)).provider(t, tokens(func(context.Context) (string, error) { panic("mine") }))
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	_, _ = p.Generate(t.Context(), hello(), nil)
}

func TestApplicationDefaultCredentials(t *testing.T) {
	var asked atomic.Int32
	tokenServer := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"adc","token_type":"Bearer","expires_in":3600}`)
	})
	file := filepath.Join(t.TempDir(), "credentials.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(nil))

	_, err := unary(t, p, hello())
	e := failed(t, err, llm.ErrAuth)
	field, ok := errors.AsType[*llm.FieldError](err)
	if !ok || e.Code != "no_credentials" || !e.NotSent || !strings.Contains(field.Next, "gcloud auth application-default login") {
		t.Fatalf("%+v", err)
	}

	// What was not there may come later.
	credentials := fmt.Sprintf(`{"type":"external_account","audience":"a","subject_token_type":"urn:ietf:params:oauth:token-type:jwt",
		"token_url":%q,"credential_source":{"file":%q},"quota_project_id":"quota"}`, tokenServer.URL, file)
	if err := os.WriteFile(file, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := unary(t, p, hello()); err != nil {
			t.Fatalf("%+v", err)
		}
	}
	got := s.Last(t).Header
	if got.Get("Authorization") != "Bearer adc" || !slices.Equal(got.Values("X-Goog-User-Project"), []string{"quota"}) || asked.Load() != 1 {
		t.Errorf("%v, %d tokens", got, asked.Load())
	}
}

func TestAnErrorOfTheSourceIsNotChanged(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	theirs := &llm.Error{Kind: llm.ErrAuth, Code: "theirs", Err: mine}
	s := serve(t, reply(200, ok))
	var calls sync.WaitGroup
	for _, name := range []string{"gemini-2.5-flash", "gemini-2.5-pro"} {
		p := s.provider(t, model(name), tokens(func(context.Context) (string, error) { return "", theirs }))
		for range 8 {
			calls.Go(func() {
				_, err := p.Generate(t.Context(), hello(), nil)
				if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrAuth || e.Code != "theirs" || !e.NotSent || e.Model.Model != name || !errors.Is(err, mine) {
					t.Errorf("%s: %+v", name, err)
				}
			})
		}
	}
	calls.Wait()
	if theirs.NotSent || theirs.Model != (llm.ModelRef{}) {
		t.Errorf("became %+v", *theirs)
	}
}

func TestASourceThatHangsHoldsOneGoroutine(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var asked atomic.Int32
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(context.Context) (string, error) {
		asked.Add(1)
		<-release
		return "t", nil
	}))
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := p.Generate(ctx, hello(), nil)
		if e := failed(t, err, llm.ErrDeadlineExceeded); !e.NotSent {
			t.Errorf("%+v", e)
		}
		cancel()
	}
	var calls sync.WaitGroup
	for range 20 { // they wait for what the first call began
		calls.Go(func() {
			if _, err := unary(t, p, hello()); err != nil {
				t.Error(err)
			}
		})
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the source was called %d times", n)
	}
	close(release)
	calls.Wait()
}

// TestACallIsNotEndedByTheContextOfAnother: that a source obeys.
func TestACallIsNotEndedByTheContextOfAnother(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	var asked atomic.Int32
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(ctx context.Context) (string, error) {
		if asked.Add(1) > 1 {
			return "t", nil
		}
		close(begun)
		<-ctx.Done()
		return "", ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := p.Generate(ctx, hello(), nil)
		if llm.KindOf(err) != llm.ErrCanceled {
			t.Errorf("the first: %v", err)
		}
	})
	<-begun
	calls.Go(func() {
		if _, err := unary(t, p, hello()); err != nil {
			t.Errorf("the second: %+v", err)
		}
	})
	cancel()
	calls.Wait()
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestAPanicOfTheSourceIsOfAllThatWait(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serve(t, reply(200, ok))
	p := s.provider(t, tokens(func(context.Context) (string, error) {
		if asked.Add(1) > 1 {
			return "t", nil
		}
		panic("mine")
	}))
	var calls sync.WaitGroup
	var panics atomic.Int32
	for range 4 {
		calls.Go(func() {
			defer func() {
				if got := recover(); got == "mine" {
					panics.Add(1)
				}
			}()
			_, _ = p.Generate(t.Context(), hello(), nil)
		})
	}
	calls.Wait()
	if _, err := unary(t, p, hello()); panics.Load() == 0 || err != nil { // a panic is not for ever
		t.Errorf("%d panics, then %v", panics.Load(), err)
	}
}
