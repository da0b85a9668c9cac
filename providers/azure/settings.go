package azure

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/llm"
)

// Options are the settings of one deployment of Azure OpenAI or Azure AI.
type Options struct {
	// Endpoint is the address of the resource, and its path decides the form of the requests:
	//
	//	https://NAME.openai.azure.com              the deployments of a resource, or its v1 path (see APIVersion)
	//	https://NAME.services.ai.azure.com/models  Azure AI: all models of a resource, the name is in the body
	//	https://gateway.example/any/prefix         a gateway in front of the first form
	//
	// The target URI that the portal shows, with the deployment and the api-version in it, is taken too.
	Endpoint string
	// Deployment is the name of the deployment or, under /models, of the model. It is sent as it is.
	Deployment string
	// APIVersion is a date such as "2024-10-21". Empty means the v1 path, /openai/v1, which has no versions.
	APIVersion string
	// Key is the resource's key. Exactly one of Key and Token is set.
	Key string
	// Token returns a bearer token, from Entra ID for example. It is asked on each request, so it should cache,
	// and once more if the service says that the token has expired. An *llm.Error of it is the error of the call;
	// any other makes it ErrAuth.
	Token TokenSource
	// HTTP is the client to use; nil is one of ours. A custom one keeps its transport, under our shims. Its
	// Timeout is dropped, since it would cut long streams: the context of a call limits it.
	HTTP *http.Client
	// Hint is a gateway's own header for the time that it has; nil is none. It is set on each request to the time
	// that is left of it, at most Hint.Max, when the caller has a deadline: see [deadline.Header.Set].
	Hint *deadline.Header
	// Parameters are further members of every request's body, or other values for members that the request
	// leaves open. A nil value keeps a member from being sent.
	Parameters map[string]any
	// LegacyMaxTokens sends MaxTokens as max_tokens, for models that do not know max_completion_tokens. It is
	// implied under /models and by an APIVersion before 2024-09-01.
	LegacyMaxTokens bool
}

// CompatibleOptions are the settings of one model at OpenAI or at any server that speaks its chat completions.
type CompatibleOptions struct {
	// BaseURL is what stands before /chat/completions, for example "http://localhost:8000/v1". Empty means
	// OpenAI itself.
	BaseURL string
	// Model is sent as it is.
	Model string
	// Key is sent as a bearer token. It may be empty, for servers without keys.
	Key string
	// Token replaces Key, as in [Options].
	Token TokenSource
	// HTTP, Hint, Parameters and LegacyMaxTokens are as in [Options].
	HTTP            *http.Client
	Hint            *deadline.Header
	Parameters      map[string]any
	LegacyMaxTokens bool
	// Provider is the name in llm.ModelRef, which telemetry shows. Empty means "openai".
	Provider string
}

// openAI is the base of OpenAI itself.
const openAI = "https://api.openai.com/v1"

// New returns a Provider for a deployment of Azure OpenAI or Azure AI. It sends nothing.
func New(o *Options) (*Provider, error) {
	if o == nil {
		return nil, llm.Invalid("options", "are nil", "give at least Endpoint, Deployment and Key")
	}
	at, err := locate(o)
	if err != nil {
		return nil, err
	}
	switch {
	case at.deployment == "":
		return nil, llm.Invalid("deployment", "is empty", "give the name of the deployment, as the portal shows it")
	case !isName(at.deployment):
		return nil, noName("deployment")
	case o.Key == "" && o.Token == nil:
		return nil, llm.Invalid("api_key", "is empty", "give the resource's key, or a source of tokens (in a file, auth: entra)")
	case o.Key != "" && o.Token != nil:
		return nil, llm.Invalid("api_key", "is set together with a source of tokens (in a file, auth)", "set one of the two")
	}
	if err := checkSecret("api_key", o.Key); err != nil {
		return nil, err
	}
	header, err := hint.Check(o.Hint)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		model: llm.ModelRef{Provider: "azure", Model: at.deployment},
		token: o.Token,
		form:  at.form(o.LegacyMaxTokens),
	}
	if p.parameters, err = encodeParameters(o.Parameters); err != nil {
		return nil, err
	}
	p.connect(&connection{base: at.base, version: at.version, key: o.Key, http: o.HTTP, bearer: o.Token != nil, models: at.models, hint: header})
	return p, nil
}

// isName reports whether a server can know something by this name. A line end comes along easily from a file or a
// variable, and would be answered with a 404 that does not show it.
func isName(name string) bool {
	return strings.TrimSpace(name) == name && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

func noName(field string) error {
	return llm.Invalid(field, "has blanks or line ends around it, or signs that no name has", "copy it again, without them")
}

// Compatible returns a Provider for a model at OpenAI or at a server that speaks its chat completions. It
// sends nothing.
func Compatible(o *CompatibleOptions) (*Provider, error) {
	if o == nil {
		return nil, llm.Invalid("options", "are nil", "give at least Model")
	}
	base := o.BaseURL
	if base == "" {
		base = openAI
	}
	u, err := parseURL("base_url", base)
	if err != nil {
		return nil, err
	}
	switch {
	case u.RawQuery != "":
		return nil, llm.Invalid("base_url", "has a query", "end it with the path, such as /v1")
	case o.Model == "":
		return nil, llm.Invalid("model", "is empty", "give the name of the model")
	case !isName(o.Model):
		return nil, noName("model")
	case o.Key != "" && o.Token != nil:
		return nil, llm.Invalid("api_key", "is set together with a source of tokens", "set one of the two")
	}
	if err := checkSecret("api_key", o.Key); err != nil {
		return nil, err
	}
	header, err := hint.Check(o.Hint)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		model: llm.ModelRef{Provider: o.Provider, Model: o.Model},
		token: o.Token,
		form:  form{streamUsage: true, strictTools: true, schemas: true, parallel: true, oldMaxTokens: o.LegacyMaxTokens},
	}
	if p.model.Provider == "" {
		p.model.Provider = "openai"
	}
	if p.parameters, err = encodeParameters(o.Parameters); err != nil {
		return nil, err
	}
	trimPath(u, chatCompletions)
	p.connect(&connection{base: u.String(), key: o.Key, http: o.HTTP, bearer: true, hint: header})
	return p, nil
}

// checkSecret refuses what no header can carry: a line end copied along with a key is common, and net/http
// would answer it with an error that says nothing of the key.
func checkSecret(field, secret string) error {
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return llm.Invalid(field, "has blanks, line ends or other characters that no key has", "copy it again, without them")
	}
	return nil
}

func parseURL(field, value string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case value == "":
		return nil, llm.Invalid(field, "is empty", "give an address such as https://NAME.openai.azure.com")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, llm.Invalid(field, "is no http or https address", "write it as https://HOST/PATH")
	case u.User != nil:
		return nil, llm.Invalid(field, "holds a user or password", "put the credential into api_key")
	case u.Fragment != "":
		return nil, llm.Invalid(field, "has a fragment", "leave out what begins with #")
	}
	trimPath(u, "")
	return u, nil
}

// trimPath removes slashes and suffix from the end of the path, in its encoded form too.
func trimPath(u *url.URL, suffix string) {
	trim := func(s string) string {
		return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s, "/"), suffix), "/")
	}
	u.Path, u.RawPath = trim(u.Path), trim(u.RawPath)
}

// encodeParameters prepares what goes into every body.
func encodeParameters(parameters map[string]any) (members, error) {
	m := make(members, len(parameters))
	for name, value := range parameters {
		if reserved(name) {
			return nil, llm.Invalid("parameters", "hold messages, model or stream", "leave them to the request and to the other settings")
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, llm.Invalid("parameters", "hold a value that is no JSON", "use numbers, text, lists and maps")
		}
		m[name] = raw
	}
	return m, nil
}
