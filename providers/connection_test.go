package providers_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// connecting opens each adapter on an address.
var connecting = map[string]func(url string) (closer, error){
	"azure": func(url string) (closer, error) {
		return azure.New(&azure.Options{Endpoint: url, Deployment: "m", Key: "key"})
	},
	"compatible": func(url string) (closer, error) {
		return azure.Compatible(&azure.CompatibleOptions{BaseURL: url, Model: "m"})
	},
	"bedrock": func(url string) (closer, error) {
		return bedrock.New(&bedrock.Options{Region: "us-east-1", Model: "m", Endpoint: url, Credentials: signing})
	},
	"vertex": func(url string) (closer, error) {
		return vertex.New(&vertex.Options{Project: "p", Model: "gemini-2.5-flash", Endpoint: url, TokenSource: simulatedToken})
	},
	"vertexai": func(url string) (closer, error) {
		return vertex.New(&vertex.Options{
			Project: "p", Model: "gemini-2.5-flash", Endpoint: url, TokenSource: simulatedToken, Engine: vertexai.Engine,
		})
	},
}

type closer interface {
	llm.Generator
	Close() error
}

func simulatedToken(context.Context) (string, error) { return "token", nil }

// Why there is no connection is a word, in the Code and in the text, and of one kind with every adapter.
func TestWhyThereIsNoConnection(t *testing.T) {
	t.Parallel()
	quiet := func(s *httptest.Server) *httptest.Server {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
		return s
	}
	secure := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	plain := quiet(httptest.NewServer(http.NotFoundHandler()))
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	for code, c := range map[string]struct{ url, text string }{
		"certificate_not_trusted": {secure.URL, "certificate_not_trusted"},
		"not_tls":                 {strings.Replace(plain.URL, "http:", "https:", 1), "not_tls"},
		"host_not_found":          {"https://no-such-host.invalid", "no such host no-such-host.invalid"},
		"connection_refused":      {"https://" + free.Addr().String(), "connection refused"},
	} {
		for name, open := range connecting {
			for how, sink := range map[string]llm.Sink{"unary": nil, "stream": func(llm.Event) error { return nil }} {
				t.Run(code+"/"+name+"/"+how, func(t *testing.T) {
					t.Parallel()
					p, err := open(c.url)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = p.Close() }()
					_, err = p.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("hi")}}, sink)
					e, ok := err.(*llm.Error) //nolint:errorlint // of the adapter, not wrapped
					if !ok || e.Kind != llm.ErrConnection || e.Code != code || !e.NotSent || !strings.HasSuffix(e.Error(), "connection ("+c.text+")") {
						t.Errorf("%+v", err)
					}
				})
			}
		}
	}
}
