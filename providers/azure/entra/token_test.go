package entra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/azure/entra"
)

const (
	tenant = "11111111-2222-3333-4444-555555555555"
	client = "66666666-7777-8888-9999-000000000000"
	secret = "canary-secret-3b9f"
)

// service is Entra ID as far as a client sees it: the metadata of a tenant, and its tokens.
type service struct {
	*httptest.Server
	reply func(n int, form url.Values, w http.ResponseWriter, r *http.Request)

	mu    sync.Mutex
	forms []url.Values
}

func start(t *testing.T, reply func(n int, form url.Values, w http.ResponseWriter, r *http.Request)) *service {
	t.Helper()
	s := &service{reply: reply}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		base := s.URL + "/" + strings.Split(r.URL.Path, "/")[1]
		fmt.Fprintf(w, `{"token_endpoint": %q, "authorization_endpoint": %q, "issuer": %q}`, base+"/oauth2/v2.0/token", base+"/authorize", base+"/v2.0")
		return
	}
	_ = r.ParseForm()
	s.mu.Lock()
	s.forms = append(s.forms, r.PostForm)
	n := len(s.forms)
	s.mu.Unlock()
	s.reply(n, r.PostForm, w, r)
}

func (s *service) asked() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values(nil), s.forms...)
}

// granted answers with tokens token-1, token-2, … that live as long as that.
func granted(life time.Duration) func(int, url.Values, http.ResponseWriter, *http.Request) {
	return func(n int, _ url.Values, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"token_type": "Bearer", "access_token": "token-%d", "expires_in": %d}`, n, int(life.Seconds()))
	}
}

func refusing(status int, body string) func(int, url.Values, http.ResponseWriter, *http.Request) {
	return func(_ int, _ url.Values, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// environment has nothing of this machine's in it.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{
		"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME",
		"AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST", "AZURE_TOKEN_CREDENTIALS", "IDENTITY_ENDPOINT", "MSI_ENDPOINT",
	} {
		t.Setenv(name, "") // put back at the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range set {
		t.Setenv(name, value)
	}
}

func source(t *testing.T, o *entra.Options) azure.TokenSource {
	t.Helper()
	source, err := entra.Token(o)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestAServicePrincipal: the secret of an application buys a token for Azure OpenAI, which is kept.
func TestAServicePrincipal(t *testing.T) {
	for name, o := range map[string]entra.Options{
		"from the environment": {},
		"from the options":     {TenantID: tenant, ClientID: client},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, granted(time.Hour))
			set := map[string]string{"AZURE_CLIENT_SECRET": secret}
			if o.ClientID == "" {
				set["AZURE_TENANT_ID"], set["AZURE_CLIENT_ID"] = tenant, client
			}
			environment(t, set)
			o.Authority, o.HTTP = s.URL, s.Client()
			source := source(t, &o)
			for range 3 {
				if token, err := source(t.Context()); err != nil || token != "token-1" {
					t.Fatalf("%q, %v", token, err)
				}
			}
			forms := s.asked()
			if len(forms) != 1 {
				t.Fatalf("asked %d times for a token that lives an hour", len(forms))
			}
			for key, want := range map[string]string{"grant_type": "client_credentials", "client_id": client, "client_secret": secret} {
				if forms[0].Get(key) != want {
					t.Errorf("%s is %q", key, forms[0].Get(key))
				}
			}
			if !strings.Contains(forms[0].Get("scope"), entra.DefaultScope) {
				t.Errorf("scope %q", forms[0].Get("scope"))
			}
		})
	}
}

// TestAnExpiredTokenIsRenewed: a token that is as good as over is not given out again.
func TestAnExpiredTokenIsRenewed(t *testing.T) {
	s := start(t, granted(time.Second))
	environment(t, map[string]string{"AZURE_CLIENT_SECRET": secret})
	source := source(t, &entra.Options{TenantID: tenant, ClientID: client, Authority: s.URL, HTTP: s.Client(), Scope: "api://other/.default"})
	for _, want := range []string{"token-1", "token-2"} {
		if token, err := source(t.Context()); err != nil || token != want {
			t.Fatalf("%q, %v; want %s", token, err, want)
		}
	}
	if got := s.asked()[0].Get("scope"); !strings.Contains(got, "api://other/.default") {
		t.Errorf("scope %q", got)
	}
}

// TestAWorkload: a pod's token is exchanged for one of Entra ID.
func TestAWorkload(t *testing.T) {
	s := start(t, granted(time.Hour))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("pod-assertion"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []entra.Options{{}, {ClientID: client}} {
		environment(t, map[string]string{"AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client})
		o.Authority, o.HTTP = s.URL, s.Client()
		if token, err := source(t, &o)(t.Context()); err != nil || !strings.HasPrefix(token, "token-") {
			t.Fatalf("%q, %v", token, err)
		}
	}
	for _, form := range s.asked() {
		if form.Get("client_assertion") != "pod-assertion" || form.Get("client_id") != client {
			t.Errorf("sent %v", form)
		}
	}
}

// TestErrorsOfTheTokenService: who is at fault decides the Kind, and no text holds a secret or the service's words.
func TestErrorsOfTheTokenService(t *testing.T) {
	description := `"error_description": "AADSTS7000215: Invalid client secret ` + secret + `", "error_codes": [7000215]`
	tests := []struct {
		name  string
		reply func(int, url.Values, http.ResponseWriter, *http.Request)
		kind  llm.Kind
		code  string
		want  string
	}{
		{"a wrong secret", refusing(401, `{"error": "invalid_client", `+description+`}`), llm.ErrAuth, "no_token", "were refused by Entra ID (invalid_client)"},
		{"an unknown tenant", refusing(400, `{"error": "invalid_request", `+description+`}`), llm.ErrAuth, "no_token", "(invalid_request)"},
		{"a refusal without a word", refusing(403, `<html>`+secret+`</html>`), llm.ErrAuth, "no_token", "were refused by Entra ID ("},
		{"a word that is none", refusing(400, `{"error": "`+secret+`"}`), llm.ErrAuth, "no_token", "refused by Entra ID (check"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, tt.reply)
			environment(t, map[string]string{"AZURE_CLIENT_SECRET": secret})
			source := source(t, &entra.Options{TenantID: tenant, ClientID: client, Authority: s.URL, HTTP: s.Client()})
			_, err := source(t.Context())
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != tt.kind || e.Code != tt.code || !e.NotSent || !strings.Contains(e.Error(), tt.want) {
				t.Fatalf("%v (%#v)", err, e)
			}
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v %#v", err, err), e.Detail(), e.Err.Error()} {
				if strings.Contains(text, secret) || strings.Contains(text, "AADSTS") {
					t.Errorf("holds what must not be logged: %s", text)
				}
			}
		})
	}
}

// TestATokenServiceThatIsDown: its fault will pass, so it is not one of the credential. The library tries again by
// itself as long as there is time; here it is told to stop.
func TestATokenServiceThatIsDown(t *testing.T) {
	down := &http.Response{StatusCode: 503, Status: "503 Service Unavailable", Body: http.NoBody}
	for name, tt := range map[string]struct {
		transport http.RoundTripper
		kind      llm.Kind
	}{
		"unavailable": {roundTripper(func(*http.Request) (*http.Response, error) { return new(*down), nil }), llm.ErrUnavailable},
		"unreachable": {roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("dial tcp 127.0.0.1:1: connect: connection refused")
		}), llm.ErrConnection},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := source(t, &entra.Options{Credential: &once{tt.transport}})
			_, err := source(t.Context())
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != tt.kind || e.Code != "token_service" || !e.NotSent {
				t.Errorf("%v", err)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoCredential: the error says where one is looked for.
func TestNoCredential(t *testing.T) {
	environment(t, map[string]string{"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential"})
	_, err := source(t, nil)(t.Context())
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.ErrAuth || e.Code != "no_credentials" || !e.NotSent {
		t.Fatalf("%v", err)
	}
	if text := e.Error(); !strings.Contains(text, "none were found") || !strings.Contains(text, "az login") || !strings.Contains(text, "AZURE_CLIENT_SECRET") {
		t.Errorf("%s", text)
	}
}

func TestWrongSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		set  map[string]string
		o    entra.Options
		want string
	}{
		"a secret without a tenant":   {map[string]string{"AZURE_CLIENT_SECRET": secret}, entra.Options{ClientID: client}, "tenant_id: is empty"},
		"a tenant that is none":       {map[string]string{"AZURE_CLIENT_SECRET": secret}, entra.Options{ClientID: client, TenantID: "a b"}, "tenant_id, client_id"},
		"a token service over http":   {map[string]string{"AZURE_CLIENT_SECRET": secret}, entra.Options{ClientID: client, TenantID: tenant, Authority: "http://h"}, "(https)"},
		"credentials that are no way": {map[string]string{"AZURE_TOKEN_CREDENTIALS": "some"}, entra.Options{}, "AZURE_TOKEN_CREDENTIALS"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, tt.set)
			_, err := entra.Token(&tt.o)
			if !errors.Is(err, llm.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestATokenServiceThatHangs: no call waits longer than its context, and neither do those that came at the same time.
func TestATokenServiceThatHangs(t *testing.T) {
	s := start(t, func(_ int, _ url.Values, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	environment(t, map[string]string{"AZURE_CLIENT_SECRET": secret, "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client})
	provider, err := azure.New(&azure.Options{
		Endpoint: "http://127.0.0.1:1", Deployment: "gpt-4o",
		Token: source(t, &entra.Options{Authority: s.URL, HTTP: s.Client()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() {
			_, err := provider.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("x")}}, nil)
			if !errors.Is(err, llm.ErrDeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
	calls.Wait() // a hang would end the test by its own limit
}

// TestACallThatEndsSaysSo: whatever the library makes of a context that is over, it is the context's error.
func TestACallThatEndsSaysSo(t *testing.T) {
	environment(t, map[string]string{"AZURE_CLIENT_SECRET": secret, "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client})
	s := start(t, granted(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := source(t, &entra.Options{Authority: s.URL, HTTP: s.Client()})(ctx)
	if err != context.Canceled { //nolint:errorlint // it is that error, not one around it
		t.Errorf("%v", err)
	}
}

// TestTheWordInAConfiguration: `auth: entra` is asked for by the factory, with its settings.
func TestTheWordInAConfiguration(t *testing.T) {
	environment(t, nil)
	open := func(text string) error {
		endpoint, err := azure.Factory(entra.Auth)(t.Context(), func(into any) error { return json.Unmarshal([]byte(text), into) })
		if err == nil {
			err = endpoint.Close()
		}
		return err
	}
	if err := open(`{"endpoint": "https://h", "deployment": "d", "auth": "entra", "client_id": "` + client + `", "scope": "api://x/.default"}`); err != nil {
		t.Error(err)
	}
	t.Setenv("AZURE_CLIENT_SECRET", secret)
	if err := open(`{"endpoint": "https://h", "deployment": "d", "auth": "entra", "client_id": "c"}`); !errors.Is(err, llm.ErrInvalid) {
		t.Errorf("without a tenant: %v", err)
	}
}

// once is a credential of the library's with its retries off.
type once struct{ transport http.RoundTripper }

func (c *once) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return secretCredential(c.transport).GetToken(ctx, o)
}

// TestATokenServiceWithoutAnEnd: an answer that never ends is not read into memory until the call does.
func TestATokenServiceWithoutAnEnd(t *testing.T) {
	piece := bytes.Repeat([]byte(" "), 1<<16)
	sent := make(chan int, 1)
	s := start(t, func(_ int, _ url.Values, w http.ResponseWriter, _ *http.Request) {
		n := 0
		for err := error(nil); err == nil && n < 1<<30; n += len(piece) {
			_, err = w.Write(piece)
		}
		sent <- n
	})
	environment(t, map[string]string{"AZURE_CLIENT_SECRET": secret})
	_, err := source(t, &entra.Options{TenantID: tenant, ClientID: client, Authority: s.URL, HTTP: s.Client()})(t.Context())
	if e, ok := errors.AsType[*llm.Error](err); !ok || !e.NotSent {
		t.Errorf("got %v", err)
	}
	if n := <-sent; n > 64<<20 {
		t.Errorf("it took %d bytes", n)
	}
}
