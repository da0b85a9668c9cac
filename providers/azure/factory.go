package azure

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/network"
	"github.com/punctual-llm/punctual/llm"
)

// TokenSource returns a bearer token, as in [Options].Token.
type TokenSource = func(ctx context.Context) (string, error)

// Auth is a way to get tokens that a configuration can name: with entra.Auth in [Factory], `auth: entra` works.
// It is a value, so that this package imports no library of Azure's.
type Auth struct {
	Name string // the word in the configuration
	// Open returns the source of tokens for one target. It sends nothing.
	Open func(ctx context.Context, s AuthSettings) (TokenSource, error)
}

// AuthSettings are the keys of a target that an [Auth] reads. All may be empty.
type AuthSettings struct {
	TenantID string `yaml:"tenant_id" json:"tenant_id"`
	ClientID string `yaml:"client_id" json:"client_id"`
	Scope    string `yaml:"scope" json:"scope"`
}

// section is what a target of provider azure may have in a configuration.
type section struct {
	Endpoint         string         `yaml:"endpoint" json:"endpoint" doc:"The address of the resource, or the target URI that the portal shows."`
	Deployment       string         `yaml:"deployment" json:"deployment" doc:"The name of the deployment or, under /models, of the model. Required."`
	APIVersion       string         `yaml:"api_version" json:"api_version" doc:"The version of the API, such as 2024-10-21." default:"the v1 path, which has none"`
	Key              string         `yaml:"api_key" json:"api_key" doc:"The key of the resource; or auth."`
	Auth             string         `yaml:"auth" json:"auth" doc:"A way to get tokens in place of a key: entra."`
	TenantID         string         `yaml:"tenant_id" json:"tenant_id" doc:"The tenant, for auth: entra."`
	ClientID         string         `yaml:"client_id" json:"client_id" doc:"The client, for auth: entra."`
	Scope            string         `yaml:"scope" json:"scope" doc:"The scope of the token, for auth: entra."`
	Parameters       map[string]any `yaml:"parameters" json:"parameters" doc:"Further members of every request's body."`
	LegacyMaxTokens  bool           `yaml:"legacy_max_tokens" json:"legacy_max_tokens" doc:"Send max_tokens, for models that do not know max_completion_tokens." default:"false"`
	Hint             *hint.Settings `yaml:"hint" json:"hint" doc:"A gateway's own header for the time that it may take."`
	network.Settings `yaml:",inline"`
}

// Factory opens targets of Azure OpenAI and Azure AI from a configuration, with the keys endpoint, deployment,
// api_version, api_key, parameters and legacy_max_tokens, as in [Options], hint (header, unit, configured), proxy and
// tls (ca, cert, key). In place of api_key, auth names one of the given ways to get tokens, with tenant_id, client_id
// and scope as its settings.
func Factory(auth ...Auth) llm.Factory {
	auth = slices.Clone(auth)
	return func(ctx context.Context, settings func(into any) error) (llm.Endpoint, error) {
		var s section
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		header, err := s.Hint.Open()
		if err != nil {
			return llm.Endpoint{}, err
		}
		client, err := s.Client()
		if err != nil {
			return llm.Endpoint{}, err
		}
		o := &Options{
			Endpoint: s.Endpoint, Deployment: s.Deployment, APIVersion: s.APIVersion, Key: s.Key,
			Parameters: s.Parameters, LegacyMaxTokens: s.LegacyMaxTokens, Hint: header, HTTP: client,
		}
		if s.Auth != "" {
			way, err := find(auth, s.Auth)
			if err != nil {
				return llm.Endpoint{}, err
			}
			as := AuthSettings{TenantID: s.TenantID, ClientID: s.ClientID, Scope: s.Scope}
			if o.Token, err = way.Open(ctx, as); err != nil {
				return llm.Endpoint{}, err
			}
		} else if s.TenantID+s.ClientID+s.Scope != "" {
			return llm.Endpoint{}, llm.Invalid("auth", "is empty, but there are settings for it", "write auth: entra")
		}
		p, err := New(o)
		return endpoint(p, err, client)
	}
}

// find returns the Auth of that name. What is known but was not given is an error that names the import.
func find(auth []Auth, name string) (*Auth, error) {
	var known []string
	for i := range auth {
		if auth[i].Name == name {
			return &auth[i], nil
		}
		known = append(known, auth[i].Name)
	}
	if name == "entra" {
		return nil, llm.Invalid("auth", "is not built in",
			"pass entra.Auth of github.com/punctual-llm/punctual/providers/azure/entra to Factory")
	}
	next := "leave it out and set api_key"
	if len(known) > 0 {
		next = fmt.Sprintf("use %s, or set api_key in its place", strings.Join(known, " or "))
	}
	return nil, llm.Invalid("auth", "is unknown", next)
}

// compatibleSection is what a target of an OpenAI-compatible server may have in a configuration.
type compatibleSection struct {
	BaseURL          string         `yaml:"base_url" json:"base_url" doc:"What stands before /chat/completions." default:"OpenAI's"`
	Model            string         `yaml:"model" json:"model" doc:"The name of the model. Required."`
	Key              string         `yaml:"api_key" json:"api_key" doc:"The key, sent as a bearer token."`
	Parameters       map[string]any `yaml:"parameters" json:"parameters" doc:"Further members of every request's body."`
	LegacyMaxTokens  bool           `yaml:"legacy_max_tokens" json:"legacy_max_tokens" doc:"Send max_tokens, for models that do not know max_completion_tokens." default:"false"`
	Hint             *hint.Settings `yaml:"hint" json:"hint" doc:"A gateway's own header for the time that it may take."`
	network.Settings `yaml:",inline"`
}

// CompatibleFactory opens targets of OpenAI and of compatible servers from a configuration, with the keys
// base_url, model, api_key, parameters and legacy_max_tokens, as in [CompatibleOptions], hint (header, unit,
// configured), proxy and tls (ca, cert, key).
func CompatibleFactory() llm.Factory {
	return func(_ context.Context, settings func(into any) error) (llm.Endpoint, error) {
		var s compatibleSection
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		header, err := s.Hint.Open()
		if err != nil {
			return llm.Endpoint{}, err
		}
		client, err := s.Client()
		if err != nil {
			return llm.Endpoint{}, err
		}
		p, err := Compatible(&CompatibleOptions{
			BaseURL: s.BaseURL, Model: s.Model, Key: s.Key,
			Parameters: s.Parameters, LegacyMaxTokens: s.LegacyMaxTokens, Hint: header, HTTP: client,
		})
		return endpoint(p, err, client)
	}
}

func endpoint(p *Provider, err error, client *http.Client) (llm.Endpoint, error) {
	if err != nil {
		return llm.Endpoint{}, err
	}
	return llm.Endpoint{
		Generator: p,
		Model:     p.model,
		Can:       llm.Capabilities{Lacks: []string{"video"}, Streams: true},
		Prompt:    true,
		Close:     network.Closer(p.Close, client),
	}, nil
}
