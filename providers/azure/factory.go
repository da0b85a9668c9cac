package azure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/hint"
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
	Endpoint        string         `yaml:"endpoint" json:"endpoint"`
	Deployment      string         `yaml:"deployment" json:"deployment"`
	APIVersion      string         `yaml:"api_version" json:"api_version"`
	Key             string         `yaml:"api_key" json:"api_key"`
	Auth            string         `yaml:"auth" json:"auth"`
	TenantID        string         `yaml:"tenant_id" json:"tenant_id"`
	ClientID        string         `yaml:"client_id" json:"client_id"`
	Scope           string         `yaml:"scope" json:"scope"`
	Parameters      map[string]any `yaml:"parameters" json:"parameters"`
	LegacyMaxTokens bool           `yaml:"legacy_max_tokens" json:"legacy_max_tokens"`
	Hint            *hint.Settings `yaml:"hint" json:"hint"`
}

// Factory opens targets of Azure OpenAI and Azure AI from a configuration, with the keys endpoint, deployment,
// api_version, api_key, parameters and legacy_max_tokens, as in [Options], and hint (header, unit, configured). In place of api_key, auth names one
// of the given ways to get tokens, with tenant_id, client_id and scope as its settings.
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
		o := &Options{
			Endpoint: s.Endpoint, Deployment: s.Deployment, APIVersion: s.APIVersion, Key: s.Key,
			Parameters: s.Parameters, LegacyMaxTokens: s.LegacyMaxTokens, Hint: header,
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
		return endpoint(New(o))
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
	BaseURL         string         `yaml:"base_url" json:"base_url"`
	Model           string         `yaml:"model" json:"model"`
	Key             string         `yaml:"api_key" json:"api_key"`
	Parameters      map[string]any `yaml:"parameters" json:"parameters"`
	LegacyMaxTokens bool           `yaml:"legacy_max_tokens" json:"legacy_max_tokens"`
	Hint            *hint.Settings `yaml:"hint" json:"hint"`
}

// CompatibleFactory opens targets of OpenAI and of compatible servers from a configuration, with the keys
// base_url, model, api_key, parameters and legacy_max_tokens, as in [CompatibleOptions], and hint (header, unit,
// configured).
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
		return endpoint(Compatible(&CompatibleOptions{
			BaseURL: s.BaseURL, Model: s.Model, Key: s.Key,
			Parameters: s.Parameters, LegacyMaxTokens: s.LegacyMaxTokens, Hint: header,
		}))
	}
}

func endpoint(p *Provider, err error) (llm.Endpoint, error) {
	if err != nil {
		return llm.Endpoint{}, err
	}
	return llm.Endpoint{
		Generator: p,
		Model:     p.model,
		Can:       llm.Capabilities{Lacks: []string{"video"}, Streams: true},
		Prompt:    true,
		Close:     p.Close,
	}, nil
}
