package vertexai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// settingsOf are those that package vertex makes of options.
func settingsOf(t *testing.T, o vertex.Options) (s *gemini.Settings) {
	t.Helper()
	o.TokenSource = func(context.Context) (string, error) { return "t", nil }
	o.Engine = vertex.Engine{Open: func(got *gemini.Settings) (gemini.Conn, error) {
		s = got
		return Engine.Open(got)
	}}
	p, err := vertex.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return s
}

func TestAddressesAndNamesOfModels(t *testing.T) {
	t.Parallel()
	for target, o := range map[string]vertex.Options{
		"dns:///aiplatform.googleapis.com:443":              {},
		"dns:///europe-west4-aiplatform.googleapis.com:443": {Location: "europe-west4"},
		"dns:///aiplatform.us.rep.googleapis.com:443":       {Location: "us"},
		"dns:///aiplatform.eu.rep.googleapis.com:443":       {Location: "eu"},
		"dns:///private.example:8443":                       {Endpoint: "https://private.example:8443"},
		"dns:///private.example:443":                        {Endpoint: "https://private.example/v1beta1"},
		"dns:///[::1]:80":                                   {Endpoint: "http://[::1]"},
	} {
		o.Project, o.Model = "p", "m"
		if c, err := dialer(settingsOf(t, o), nil); err != nil || c.target != target {
			t.Errorf("want %s, got %v %v", target, c, err)
		}
	}
	for model, want := range map[string]string{
		"gemini-2.5-flash":        "projects/p/locations/us/publishers/google/models/gemini-2.5-flash",
		"models/gemini":           "projects/p/locations/us/publishers/google/models/gemini",
		"meta/llama":              "projects/p/locations/us/publishers/meta/models/llama",
		"publishers/a/models/b":   "projects/p/locations/us/publishers/a/models/b",
		"projects/q/endpoints/12": "projects/q/endpoints/12",
	} {
		if got := resource(&gemini.Settings{Project: "p", Location: "us", Model: model}); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

type secureService struct {
	aiplatformpb.UnimplementedPredictionServiceServer
	header chan metadata.MD
}

func (s secureService) GenerateContent(ctx context.Context, _ *aiplatformpb.GenerateContentRequest) (*aiplatformpb.GenerateContentResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.header <- md
	return new(aiplatformpb.GenerateContentResponse), nil
}

// Over TLS the token goes as gRPC's credential of the call, which no connection without TLS would take.
func TestTheTokenGoesOverTLS(t *testing.T) {
	t.Parallel()
	https := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(https.Close)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := secureService{header: make(chan metadata.MD, 1)}
	g := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&https.TLS.Certificates[0])))
	aiplatformpb.RegisterPredictionServiceServer(g, s)
	var running sync.WaitGroup
	running.Go(func() { _ = g.Serve(l) })
	t.Cleanup(func() { g.Stop(); running.Wait() })

	roots := x509.NewCertPool()
	roots.AddCert(https.Certificate())
	settings := settingsOf(t, vertex.Options{Project: "p", Model: "m", Endpoint: "https://" + l.Addr().String()})
	c, err := dialer(settings, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := c.Do(t.Context(), &gemini.Call{Body: []byte("{}"), Token: "secret", QuotaProject: "billed"})
	defer r.Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	md := <-s.header
	if !slices.Equal(md.Get("authorization"), []string{"Bearer secret"}) || !slices.Equal(md.Get("x-goog-user-project"), []string{"billed"}) {
		t.Errorf("got %v", md)
	}
	if !(bearer{secure: c.secure}).RequireTransportSecurity() {
		t.Error("the credential would go without TLS")
	}
}

// ended is a stream that the service ended before it read anything.
type ended struct{ grpc.ClientStream }

func (ended) SendMsg(any) error { return io.EOF }

// gRPC returns io.EOF for a request to a stream that is over. For the SDK that would be the error, and the status lost.
func TestTheSDKDoesNotSeeThatAStreamEndedEarly(t *testing.T) {
	t.Parallel()
	if err := (&tap{ClientStream: ended{}, exchange: new(exchange)}).SendMsg(nil); err != nil {
		t.Errorf("got %v", err)
	}
}

// A panic of the SDK ends the call, not the program. Its text is not kept.
func TestAPanicOfTheSDK(t *testing.T) {
	t.Parallel()
	err := func() (err error) {
		defer recovered(&err)
		panic("the whole answer")
	}()
	if err != errPanic { //nolint:errorlint // that very one
		t.Errorf("got %v", err)
	}
}
