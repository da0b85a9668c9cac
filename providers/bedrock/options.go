package bedrock

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
)

// Options are the settings of one model at Amazon Bedrock.
type Options struct {
	// Region is where the model is called, "eu-central-1" say. Empty means that of the ARN in Model, else AWS_REGION,
	// AWS_DEFAULT_REGION, or the profile of the standard chain.
	Region string
	// Model is the id of a model, of an inference profile, or the ARN of either. It is sent as it is.
	Model string
	// Family is the maker of the model, as ids begin: "anthropic", "amazon", "qwen", "openai". It is needed only for
	// ARNs that do not tell (application inference profiles, provisioned and imported models): what thinking and cache
	// points look like depends on it.
	Family string
	// Endpoint replaces the service's address, for a VPC endpoint, FIPS or a gateway. Empty means that of
	// AWS_ENDPOINT_URL_BEDROCK_RUNTIME, else of AWS_ENDPOINT_URL, as with AWS's own SDKs (unless
	// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true), else the service's own.
	Endpoint string
	// BearerToken is a Bedrock API key. It goes before all other credentials, and over https only, except to
	// this machine. Set at most one of BearerToken and Credentials.
	BearerToken string
	// Credentials sign the requests. They are asked on each request, behind a cache, and once more if the service
	// says that they have expired. Nil: AWS_BEARER_TOKEN_BEDROCK if it is set, else the standard chain (environment,
	// profile, SSO, web identity, container, instance).
	Credentials aws.CredentialsProvider
	// Profile is the profile of the standard chain; empty is AWS_PROFILE or the default one.
	Profile string
	// HTTP is the client to use; nil is one of ours. A custom one keeps its transport, under our shims. Its Timeout
	// is dropped, since it would cut long streams: the context of a call limits it.
	HTTP *http.Client
	// Hint is a gateway's own header for the time that it has; nil is none. It is set on each request, beside what
	// is signed, to the time that is left of it, at most Hint.Max, when the caller has a deadline: see
	// [deadline.Header.Set].
	Hint *deadline.Header
	// Guardrail is applied to every call; [Extra].Guardrail replaces it for one.
	Guardrail *Guardrail
	// Parameters are additionalModelRequestFields of every call, "top_k" say. A request's own go before them.
	Parameters map[string]any
}

// Guardrail is a guardrail of Amazon Bedrock, which judges prompt and answer.
type Guardrail struct {
	ID      string `json:"guardrailIdentifier"`            // or its ARN
	Version string `json:"guardrailVersion"`               // "DRAFT" or a number
	Trace   string `json:"trace,omitempty"`                // "enabled" and "enabled_full" tell in Error.Filtered what was filtered
	Mode    string `json:"streamProcessingMode,omitempty"` // of streams: "sync" holds text back until it is judged, "async" does not
}

func (g *Guardrail) check(field string) error {
	if g != nil && (g.ID == "" || g.Version == "") {
		return llm.Invalid(field, "has no id or no version", `give both; the version of a draft is "DRAFT"`)
	}
	return nil
}

// envToken is the variable with a Bedrock API key.
const envToken = "AWS_BEARER_TOKEN_BEDROCK"

// New returns a Provider for a model. It sends nothing and asks no source of credentials.
func New(o *Options) (*Provider, error) {
	if o == nil {
		return nil, llm.Invalid("options", "are nil", "give at least Model")
	}
	address, source := endpointOf(o)
	p := &Provider{
		model:    llm.ModelRef{Provider: providerName, Model: o.Model},
		family:   familyOf(o.Model, o.Family),
		region:   regionOf(o),
		endpoint: address,
		token:    new(o.BearerToken),
		chain:    chain{profile: o.Profile},
	}
	switch {
	case o.Model == "":
		return nil, llm.Invalid("model", "is empty", "give the id of a model or inference profile, or its ARN")
	case strings.ContainsFunc(o.Model, notGraphic):
		return nil, llm.Invalid("model", "has blanks or other characters that no id has", "copy it again, without them")
	case hasDotSegment(o.Model):
		return nil, llm.Invalid("model", "has . or .. for a part, which would lead elsewhere in an address", "copy it again")
	case p.region != "" && !isHostLabel(p.region):
		return nil, badRegion()
	case o.BearerToken != "" && o.Credentials != nil:
		return nil, llm.Invalid("bearer_token", "is set together with credentials", "set one of the two")
	}
	if *p.token == "" && o.Credentials == nil {
		*p.token = os.Getenv(envToken)
	}
	if err := p.check(o, source); err != nil {
		return nil, err
	}
	if o.Credentials != nil {
		p.credentials = cached(o.Credentials)
	}
	if err := p.fix(o); err != nil {
		return nil, err
	}
	header, err := hint.Check(o.Hint)
	if err != nil {
		return nil, err
	}
	client := httpx.Client(o.HTTP, httpx.Options{Header: hint.Hook(header, setToken)})
	p.http = doer{client: client}
	if o.HTTP == nil { // otherwise the connections are the caller's
		p.closeIdle = client.CloseIdleConnections
	}
	return p, nil
}

// endpointOf is the address to ask in place of the service's own, and where it was found, for the text of an error.
func endpointOf(o *Options) (address, source string) {
	if o.Endpoint != "" || strings.EqualFold(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return o.Endpoint, ""
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"} {
		if address = os.Getenv(name); address != "" {
			return address, "of " + name + " "
		}
	}
	return "", ""
}

// check looks at the settings that depend on each other.
func (p *Provider) check(o *Options, source string) error {
	if strings.ContainsFunc(*p.token, notGraphic) {
		return llm.Invalid("bearer_token", "has blanks, line ends or other characters that no key has", "copy it again, without them")
	}
	if p.region == "" && (*p.token != "" || o.Credentials != nil) {
		return llm.Invalid("region", "is empty", "set it, or AWS_REGION")
	}
	if err := o.Guardrail.check("guardrail"); err != nil || p.endpoint == "" {
		return err
	}
	u, err := url.Parse(p.endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return llm.Invalid("endpoint", source+"is no http or https address", "write it as https://HOST")
	case u.User != nil:
		return llm.Invalid("endpoint", source+"holds a user or password", "leave it out")
	case u.RawQuery != "" || u.Fragment != "":
		return llm.Invalid("endpoint", source+"has a query or a fragment", "end it with the host or a path")
	case *p.token != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		return llm.Invalid("endpoint", source+"is http, over which a bearer token would be readable", "use https")
	}
	return nil
}

// fix prepares what goes into every body.
func (p *Provider) fix(o *Options) error {
	if o.Guardrail != nil {
		p.guardrail = new(*o.Guardrail)
	}
	if len(o.Parameters) == 0 {
		return nil
	}
	raw, err := marshal(o.Parameters)
	if err != nil {
		return llm.Invalid("parameters", "hold a value that is no JSON", "use numbers, text, lists and maps")
	}
	p.parameters = raw
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func notGraphic(r rune) bool { return r <= ' ' || r >= 0x7f }

func notHostByte(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

func hasDotSegment(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// isHostLabel reports whether a name can be a part of a host's, as a region is.
func isHostLabel(name string) bool {
	const most = 63
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, notHostByte) && name[0] != '-' && name[len(name)-1] != '-'
}

func badRegion() error { return llm.Invalid("region", "is no region", "write it as us-east-1") }

// regionOf is the region as far as it is known without reading files.
func regionOf(o *Options) string {
	if o.Region != "" {
		return o.Region
	}
	if fields := strings.SplitN(o.Model, ":", 6); len(fields) == 6 && fields[0] == "arn" && fields[3] != "" {
		return fields[3]
	}
	if region := os.Getenv("AWS_REGION"); region != "" {
		return region
	}
	return os.Getenv("AWS_DEFAULT_REGION")
}
