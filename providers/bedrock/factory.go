package bedrock

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/llm"
)

// section is what a target of provider bedrock may have in a configuration.
type section struct {
	Region       string `yaml:"region" json:"region"`
	Model        string `yaml:"model" json:"model"`
	Family       string `yaml:"family" json:"family"`
	Endpoint     string `yaml:"endpoint" json:"endpoint"`
	BearerToken  string `yaml:"bearer_token" json:"bearer_token"`
	AccessKeyID  string `yaml:"access_key_id" json:"access_key_id"`
	SecretKey    string `yaml:"secret_access_key" json:"secret_access_key"`
	SessionToken string `yaml:"session_token" json:"session_token"`
	Profile      string `yaml:"profile" json:"profile"`
	Guardrail    *struct {
		ID      string `yaml:"id" json:"id"`
		Version string `yaml:"version" json:"version"`
		Trace   string `yaml:"trace" json:"trace"`
		Mode    string `yaml:"mode" json:"mode"`
	} `yaml:"guardrail" json:"guardrail"`
	Parameters map[string]any `yaml:"parameters" json:"parameters"`
	Hint       *hint.Settings `yaml:"hint" json:"hint"`
}

// Factory opens targets of Amazon Bedrock from a configuration, with the keys region, model, family, endpoint,
// bearer_token, profile, guardrail (id, version, trace, mode) and parameters, as in [Options], and hint (header, unit, configured). In place of a bearer token access_key_id,
// secret_access_key and session_token may be given; without any of them the standard chain is asked.
func Factory() llm.Factory {
	return func(_ context.Context, settings func(into any) error) (llm.Endpoint, error) {
		var s section
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		header, err := s.Hint.Open()
		if err != nil {
			return llm.Endpoint{}, err
		}
		o := &Options{
			Region: s.Region, Model: s.Model, Family: s.Family, Endpoint: s.Endpoint, BearerToken: s.BearerToken,
			Profile: s.Profile, Parameters: s.Parameters, Hint: header,
		}
		if g := s.Guardrail; g != nil {
			o.Guardrail = &Guardrail{ID: g.ID, Version: g.Version, Trace: g.Trace, Mode: g.Mode}
		}
		if s.AccessKeyID+s.SecretKey+s.SessionToken != "" {
			if s.AccessKeyID == "" || s.SecretKey == "" {
				return llm.Endpoint{}, llm.Invalid("access_key_id", "is empty, or secret_access_key is", "set both, or neither")
			}
			o.Credentials = static(aws.Credentials{
				AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretKey, SessionToken: s.SessionToken, Source: "configuration",
			})
		}
		p, err := New(o)
		if err != nil {
			return llm.Endpoint{}, err
		}
		return llm.Endpoint{
			Generator: p,
			Model:     p.model,
			Can:       llm.Capabilities{Lacks: []string{"seed"}, Streams: true},
			Prompt:    true,
			Close:     p.Close,
		}, nil
	}
}

func static(c aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil })
}
