package bedrock

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/network"
	"github.com/punctual-llm/punctual/llm"
)

// section is what a target of provider bedrock may have in a configuration.
type section struct {
	Region       string `yaml:"region" json:"region" doc:"The region, such as us-east-1." default:"AWS_REGION, AWS_DEFAULT_REGION, the profile"`
	Model        string `yaml:"model" json:"model" doc:"The id of the model, of an inference profile, or an ARN. Required."`
	Family       string `yaml:"family" json:"family" doc:"The vendor's family of the model, where its id does not tell it."`
	Endpoint     string `yaml:"endpoint" json:"endpoint" doc:"Another address than AWS's, for a gateway or a private endpoint." default:"AWS's, or AWS_ENDPOINT_URL_BEDROCK_RUNTIME"`
	BearerToken  string `yaml:"bearer_token" json:"bearer_token" doc:"An API key of Bedrock, in place of the AWS credentials."`
	AccessKeyID  string `yaml:"access_key_id" json:"access_key_id" doc:"An access key, in place of the standard chain."`
	SecretKey    string `yaml:"secret_access_key" json:"secret_access_key" doc:"The secret of access_key_id."`
	SessionToken string `yaml:"session_token" json:"session_token" doc:"The session of access_key_id."`
	Profile      string `yaml:"profile" json:"profile" doc:"A profile of the AWS configuration."`
	Guardrail    *struct {
		ID      string `yaml:"id" json:"id" doc:"Its id or ARN."`
		Version string `yaml:"version" json:"version" doc:"Its version."`
		Trace   string `yaml:"trace" json:"trace" doc:"Its trace: enabled, disabled or enabled_full."`
		Mode    string `yaml:"mode" json:"mode" doc:"How streams wait for it: sync or async."`
	} `yaml:"guardrail" json:"guardrail" doc:"A guardrail to hold requests and answers to."`
	Parameters       map[string]any `yaml:"parameters" json:"parameters" doc:"Further members of every request's body."`
	Hint             *hint.Settings `yaml:"hint" json:"hint" doc:"A gateway's own header for the time that it may take."`
	network.Settings `yaml:",inline"`
}

// Factory opens targets of Amazon Bedrock from a configuration, with the keys region, model, family, endpoint,
// bearer_token, profile, guardrail (id, version, trace, mode) and parameters, as in [Options], hint (header, unit,
// configured), proxy and tls (ca, cert, key). In place of a bearer token access_key_id, secret_access_key and
// session_token may be given; without any of them the standard chain is asked.
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
		client, err := s.Client()
		if err != nil {
			return llm.Endpoint{}, err
		}
		o := &Options{
			Region: s.Region, Model: s.Model, Family: s.Family, Endpoint: s.Endpoint, BearerToken: s.BearerToken,
			Profile: s.Profile, Parameters: s.Parameters, Hint: header, HTTP: client,
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
			Close:     network.Closer(p.Close, client),
		}, nil
	}
}

func static(c aws.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil })
}
