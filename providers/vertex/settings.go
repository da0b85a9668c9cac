package vertex

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// Options are the settings of one model on Vertex AI or at the Gemini API. Which of the two follows from them:
//
//	Project (and Location)                      Vertex AI, with Application Default Credentials or a TokenSource
//	Project (and Location) and APIKey           Vertex AI, with that key
//	APIKey and Location, no Project             Vertex AI in express mode
//	APIKey alone                                the Gemini API
type Options struct {
	// Project is the id or number of the Google Cloud project.
	Project string
	// Location is a region such as "europe-west4", a multi-region ("us" or "eu"), or "global", which an empty one
	// means too.
	Location string
	// Model is a name such as "gemini-2.5-flash", or the path of a tuned model such as
	// "projects/my-project/locations/us-central1/endpoints/123".
	Model string
	// Endpoint replaces Google's address, for a gateway or a private endpoint. It may have a path, and a version of
	// the API at its end: https://gateway.example/google/v1. Without one v1beta1 is used, v1beta at the Gemini API.
	// Empty means that of GOOGLE_VERTEX_BASE_URL, at the Gemini API of GOOGLE_GEMINI_BASE_URL, as with Google's own
	// libraries, else Google's.
	Endpoint string
	// APIKey is sent in a header, never in an address.
	APIKey string
	// TokenSource returns an OAuth 2 access token. It is asked on each request, so it should cache, and once more
	// if the service refuses the token. Calls of one Provider that need a token at the same time share what it returns,
	// so it must be the same whatever the context holds. An oauth2.TokenSource ts fits with a line of glue:
	//
	//	func(context.Context) (string, error) { t, err := ts.Token(); if err != nil { return "", err }; return t.AccessToken, nil }
	TokenSource TokenSource
	// HTTP is the client to use; nil is one of ours. A custom one keeps its transport, under our shims. Its Timeout
	// is dropped, since it would cut long streams: the context of a call limits it.
	HTTP *http.Client
	// Hint is a gateway's own header for the time that it has; nil is none. It is set on each request to the time
	// that is left of it, at most Hint.Max, when the caller has a deadline: see [deadline.Header.Set]. Engines over
	// gRPC send it as metadata.
	Hint *deadline.Header
	// Parameters are further members of every request's body, such as safetySettings, where the request leaves them
	// open.
	Parameters map[string]any
	// Engine carries the calls. The zero Engine is google.golang.org/genai.
	Engine Engine
}

// TokenSource returns an access token, as in [Options].TokenSource.
type TokenSource = func(ctx context.Context) (string, error)

// Engine is a way to the service that a configuration can name: with vertexai.Engine in [Factory],
// `engine: vertexai` works. It is a value, so that this package imports no library for it.
type Engine struct {
	Name string // the word in the configuration
	// Open connects to one model. It sends nothing. Its types are internal: engines live in this module.
	Open func(s *gemini.Settings) (gemini.Conn, error)
}

// New returns a Provider for one model. It sends nothing.
func New(o *Options) (*Provider, error) {
	if o == nil {
		return nil, llm.Invalid("options", "are nil", "give at least Project and Model")
	}
	s, err := locate(o)
	if err != nil {
		return nil, err
	}
	if o.APIKey != "" && o.TokenSource != nil {
		return nil, llm.Invalid("api_key", "is set together with a source of tokens", "set one of the two")
	}
	if err := checkSecret("api_key", o.APIKey); err != nil {
		return nil, err
	}
	if s.Hint, err = hint.Check(o.Hint); err != nil {
		return nil, err
	}
	p := &Provider{
		model:  llm.ModelRef{Provider: providerName, Model: o.Model},
		form:   s.Form,
		prefix: "projects/" + s.Project + "/locations/" + s.Location + "/",
		family: family(o.Model),
		key:    new(secret.Of(o.APIKey)),
	}
	switch {
	case o.TokenSource != nil:
		p.credentials = given(o.TokenSource)
	case o.APIKey == "":
		p.credentials = new(defaultCredentials).token
	}
	if p.parameters, err = encodeParameters(o.Parameters); err != nil {
		return nil, err
	}
	engine := o.Engine
	if engine.Open == nil {
		engine = genaiEngine
	}
	if p.conn, err = engine.Open(s); err != nil {
		return nil, err
	}
	if c, ok := p.conn.(gemini.PartCarrier); ok {
		p.bytes = c.CarriesBytes()
	}
	return p, nil
}

// providerName is the provider in a llm.ModelRef, and the member of a request's Extra.
const providerName = "vertex"

// checkSecret refuses what no header can carry: a line end copied along with a key is common, and net/http would
// answer it with an error that says nothing of the key.
func checkSecret(field, secret string) error {
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return llm.Invalid(field, "has blanks, line ends or other characters that no key has", "copy it again, without them")
	}
	return nil
}

// encodeParameters prepares what goes into every body.
func encodeParameters(parameters map[string]any) (members, error) {
	m := make(members, len(parameters))
	for name, value := range parameters {
		if reserved(name) {
			return nil, llm.Invalid("parameters", "hold contents, systemInstruction or model", "leave them to the request and to the other settings")
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, llm.Invalid("parameters", "hold a value that is no JSON", "use numbers, text, lists and maps")
		}
		m[name] = raw
	}
	return m, nil
}
