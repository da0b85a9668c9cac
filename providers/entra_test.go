package providers_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/azure/entra"
)

// TestEntraTokensReachTheDeployment: a secret buys a token over the wire of Entra ID, and the deployment takes that
// token and no other. A token service that refuses the secret is told as an error of the call, and nothing is sent.
func TestEntraTokensReachTheDeployment(t *testing.T) {
	t.Setenv("AZURE_CLIENT_SECRET", "right")
	var tokens *httptest.Server
	tokens = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "openid-configuration"):
			base := tokens.URL + "/tenant"
			fmt.Fprintf(w, `{"token_endpoint": %q, "authorization_endpoint": %q, "issuer": %q}`, base+"/token", base+"/authorize", base)
		case r.FormValue("client_secret") != "right":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client"}`)
		default:
			fmt.Fprint(w, `{"token_type": "Bearer", "access_token": "of-entra", "expires_in": 3600}`)
		}
	}))
	t.Cleanup(tokens.Close)
	account := simazure.StartOptions(&simazure.Options{
		Script: []simazure.Turn{{Step: llmtest.Text("let in")}}, Key: "never", Token: "of-entra",
	})
	t.Cleanup(account.Close)
	open := func() *azure.Provider {
		source, err := entra.Token(&entra.Options{TenantID: "tenant", ClientID: "client", Authority: tokens.URL, HTTP: tokens.Client()})
		if err != nil {
			t.Fatal(err)
		}
		p, err := azure.New(&azure.Options{Endpoint: account.URL, Deployment: "gpt-4o", APIVersion: "2024-10-21", Token: source})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return p
	}
	ask := &llm.Request{Messages: []llm.Message{llm.User("x")}}
	if resp, err := open().Generate(t.Context(), ask, nil); err != nil || resp.Text() != "let in" {
		t.Fatalf("%v", err)
	}
	t.Setenv("AZURE_CLIENT_SECRET", "wrong")
	_, err := open().Generate(t.Context(), ask, nil)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.ErrAuth || e.Model.Model != "gpt-4o" || !e.NotSent || !strings.Contains(e.Error(), "refused by Entra ID (invalid_client)") {
		t.Errorf("%v", err)
	}
	if n := len(account.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
