package bedrock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
)

// newClient makes the SDK's client. It sends once, logs nothing, and takes credentials and body of a call from its
// context.
func (p *Provider) newClient(region string) *bedrockruntime.Client {
	o := bedrockruntime.Options{
		Region:             region,
		HTTPClient:         p.http,
		Retryer:            aws.NopRetryer{},
		Logger:             logging.Nop{},
		Credentials:        aws.CredentialsProviderFunc(callCredentials),
		AuthSchemeResolver: scheme{bearer: *p.token != ""},
		APIOptions:         []func(*middleware.Stack) error{ourBody, ownLimits},
	}
	if p.endpoint != "" {
		o.BaseEndpoint = aws.String(p.endpoint)
	}
	return bedrockruntime.New(o)
}

// ask makes a call of the SDK. What it sends and where the answer comes is in the wire of ctx.
func ask(ctx context.Context, client *bedrockruntime.Client, model string, stream bool) (err error) {
	defer recovered(&err)
	if stream {
		_, err = client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: &model})
	} else {
		_, err = client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: &model})
	}
	return err
}

// errPanic stands for a panic of the SDK. Its text is not kept: it may hold anything.
var errPanic = errors.New("bedrock: the SDK panicked")

func recovered(err *error) {
	if recover() != nil {
		*err = errPanic
	}
}

// wire is what goes over the wire under one call of the SDK, and what came back.
type wire struct {
	*httpx.Exchange
	session *session
	secret  secret.Credential
	body    []byte        // to send in place of the SDK's
	reply   io.ReadCloser // nil until a 2xx response has come
	length  int64         // of the reply; -1 unknown
	asked   bool          // the SDK got as far as the transport
}

type wireKey struct{}

// onWire returns a context for one call of the SDK.
func onWire(ctx context.Context, body []byte, s *session) (context.Context, *wire) {
	w := &wire{body: body, session: s, secret: secret.Of(s.token, s.credentials.SecretAccessKey, s.credentials.SessionToken)}
	ctx, w.Exchange = httpx.WithExchange(ctx)
	return context.WithValue(ctx, wireKey{}, w), w
}

func wireOf(ctx context.Context) *wire {
	w, _ := ctx.Value(wireKey{}).(*wire)
	return w
}

// callCredentials are those of the call: the SDK signs with them.
func callCredentials(ctx context.Context) (aws.Credentials, error) {
	if w := wireOf(ctx); w != nil {
		return w.session.credentials, nil
	}
	return aws.Credentials{}, errors.New("bedrock: a request outside of a call")
}

// scheme decides how requests are authenticated. The SDK's own choice lets AWS_BEARER_TOKEN_BEDROCK go before
// credentials that were given explicitly, and its bearer signer takes no http, not even to this machine.
type scheme struct{ bearer bool }

// ResolveAuthSchemes implements bedrockruntime.AuthSchemeResolver.
func (s scheme) ResolveAuthSchemes(_ context.Context, params *bedrockruntime.AuthResolverParameters) ([]*auth.Option, error) {
	if s.bearer {
		return []*auth.Option{{SchemeID: auth.SchemeIDAnonymous}}, nil // see setToken
	}
	var signer smithy.Properties
	smithyhttp.SetSigV4SigningName(&signer, "bedrock")
	smithyhttp.SetSigV4SigningRegion(&signer, params.Region)
	return []*auth.Option{{SchemeID: auth.SchemeIDSigV4, SignerProperties: signer}}, nil
}

func setToken(ctx context.Context, h http.Header) error {
	if w := wireOf(ctx); w != nil && w.session.token != "" {
		h.Set("Authorization", "Bearer "+w.session.token)
	}
	return nil
}

// ourBody puts the body of the call in place of the SDK's before it is signed, and has the SDK leave a stream alone:
// its reader takes a cut for the end and needs two goroutines.
func ourBody(stack *middleware.Stack) error {
	swap := func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
		req, ok := in.Request.(*smithyhttp.Request)
		w := wireOf(ctx)
		if !ok || w == nil {
			return middleware.SerializeOutput{}, middleware.Metadata{}, fmt.Errorf("bedrock: no call under a request of type %T", in.Request)
		}
		req, err := req.SetStream(&bodyReader{bytes: bytes.NewReader(w.body), ctx: ctx})
		if err != nil {
			return middleware.SerializeOutput{}, middleware.Metadata{}, err
		}
		req.Header.Set("Content-Type", "application/json")
		in.Request = req
		return next.HandleSerialize(ctx, in)
	}
	if err := stack.Serialize.Add(middleware.SerializeMiddlewareFunc("PunctualBody", swap), middleware.After); err != nil {
		return err
	}
	if _, streams := stack.Deserialize.Get(streamReader); streams {
		_, err := stack.Deserialize.Remove(streamReader)
		return err
	}
	return nil
}

// streamReader is the SDK's middleware that reads event streams.
const streamReader = "OperationEventStreamDeserializer"

// doer is the SDK's client: ours, which keeps a 2xx body for us and gives the SDK an empty one.
type doer struct{ client *http.Client }

// Do sends a request of the SDK.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	w := wireOf(req.Context())
	if w != nil {
		w.asked = true
	}
	resp, err := d.client.Do(req) //nolint:gosec // the address is the configured endpoint
	if err == nil && w != nil && resp.StatusCode >= 200 && resp.StatusCode < 300 {
		w.reply, w.length = resp.Body, resp.ContentLength
		resp.Body, resp.ContentLength = http.NoBody, 0
	}
	return resp, err
}
