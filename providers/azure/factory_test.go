package azure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// section stands in for a section of a configuration, decoded as strictly.
func section(text string) func(into any) error {
	return func(into any) error {
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
}

func TestTheFactoryOpensWhatTheSectionSays(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	e, err := azure.Factory()(t.Context(), section(`{"endpoint":"`+s.URL+`","deployment":"d","api_version":"2024-10-21",
		"api_key":"k","parameters":{"top_p":0.5},"legacy_max_tokens":true}`))
	if err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.MaxTokens = 7
	if _, err := unary(t, e.Generator, req); err != nil {
		t.Fatal(err)
	}
	got := s.Last(t)
	want(t, got, map[string]string{"top_p": "0.5", "max_tokens": "7"})
	if got.Path != "/openai/deployments/d/chat/completions?api-version=2024-10-21" || got.Header.Get("Api-Key") != "k" {
		t.Errorf("sent to %s with %v", got.Path, got.Header)
	}
	if e.Model != (llm.ModelRef{Provider: "azure", Model: "d"}) || !e.Prompt || !e.Can.Streams || !slices.Contains(e.Can.Lacks, "video") {
		t.Errorf("%+v", e)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheCompatibleFactoryOpensWhatTheSectionSays(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	e, err := azure.CompatibleFactory()(t.Context(), section(`{"base_url":"`+s.URL+`/v1","model":"m","api_key":"k"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unary(t, e.Generator, hello()); err != nil || s.Last(t).Path != "/v1/chat/completions" {
		t.Errorf("%v", err)
	}
	if err := e.Close(); err != nil || e.Model.Provider != "openai" {
		t.Errorf("%v, %+v", err, e)
	}
	_, err = azure.CompatibleFactory()(t.Context(), section(`{}`))
	badField(t, err, llm.ErrInvalid, "model")
}

func TestTheFactoryUsesTheWayToTokensThatIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	var asked azure.AuthSettings
	way := azure.Auth{Name: "entra", Open: func(_ context.Context, s azure.AuthSettings) (azure.TokenSource, error) {
		asked = s
		return token("from-entra"), nil
	}}
	e, err := azure.Factory(way)(t.Context(), section(`{"endpoint":"`+s.URL+`","deployment":"d","auth":"entra",
		"tenant_id":"t","client_id":"c","scope":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if _, err := unary(t, e.Generator, hello()); err != nil || s.Last(t).Header.Get("Authorization") != "Bearer from-entra" {
		t.Errorf("%v, %v", err, s.Last(t).Header)
	}
	if asked != (azure.AuthSettings{TenantID: "t", ClientID: "c", Scope: "s"}) {
		t.Errorf("%+v", asked)
	}
}

func TestAWayToTokensThatIsMissingNamesItsImport(t *testing.T) {
	t.Parallel()
	const head = `{"endpoint":"https://x","deployment":"d",`
	_, err := azure.Factory()(t.Context(), section(head+`"auth":"entra"}`))
	badField(t, err, llm.ErrInvalid, "auth")
	f, _ := errors.AsType[*llm.FieldError](err)
	if !strings.Contains(f.Next, "github.com/punctual-llm/punctual/providers/azure/entra ") {
		t.Errorf("the import is not named: %s", f.Next)
	}
	_, err = azure.Factory(azure.Auth{Name: "entra"})(t.Context(), section(head+`"auth":"entrra"}`))
	badField(t, err, llm.ErrInvalid, "auth")
	if !strings.Contains(err.Error(), "entra") {
		t.Errorf("what there is is not named: %v", err)
	}
	_, err = azure.Factory()(t.Context(), section(head+`"auth":"magic"}`))
	badField(t, err, llm.ErrInvalid, "auth")
	_, err = azure.Factory()(t.Context(), section(head+`"api_key":"k","tenant_id":"t"}`))
	badField(t, err, llm.ErrInvalid, "auth")
	if _, err = azure.Factory()(t.Context(), section(`{"endpont":"x"}`)); err == nil {
		t.Error("an unknown key was accepted")
	}
	cause := errors.New("no vault")
	way := azure.Auth{Name: "entra", Open: func(context.Context, azure.AuthSettings) (azure.TokenSource, error) { return nil, cause }}
	if _, err = azure.Factory(way)(t.Context(), section(head+`"auth":"entra"}`)); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}
