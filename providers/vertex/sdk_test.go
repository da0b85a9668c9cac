package vertex_test

import (
	"net/http"
	"reflect"
	"testing"

	"google.golang.org/genai"

	"github.com/punctual-llm/punctual/providers/vertex"
)

// Without a deadline a request has the path and the headers that the bare SDK sends under context.Background, and a
// small one the same body.
func TestARequestIsTheOneOfTheSDK(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*vertex.Options)
		config genai.ClientConfig
	}{
		"vertex": {func(*vertex.Options) {}, genai.ClientConfig{Backend: genai.BackendVertexAI, Project: "p1", Location: "us-central1"}},
		"gemini": {geminiAPI, genai.ClientConfig{Backend: genai.BackendGeminiAPI}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply(200, ok))
			if _, err := s.provider(t, test.change).Generate(t.Context(), hello(), nil); err != nil {
				t.Fatal(err)
			}
			c := test.config
			c.APIKey, c.HTTPOptions.BaseURL = "key-test", s.URL
			c.HTTPClient = &http.Client{Transport: new(http.Transport)}
			defer c.HTTPClient.CloseIdleConnections()
			client, err := genai.NewClient(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = client.Models.GenerateContent(t.Context(), "gemini-2.5-flash", genai.Text("hello"), nil); err != nil {
				t.Fatal(err)
			}
			ours, sdks := s.Requests()[0], s.Requests()[1]
			for _, r := range []*seen{&ours, &sdks} {
				r.Header.Del("Content-Length") // the SDK ends its body with a line
			}
			if ours.Path != sdks.Path || !reflect.DeepEqual(ours.Header, sdks.Header) || !reflect.DeepEqual(ours.Body, sdks.Body) {
				t.Errorf("ours\n%s %v\n%s\nthe SDK's\n%s %v\n%s", ours.Path, ours.Header, ours.Raw, sdks.Path, sdks.Header, sdks.Raw)
			}
		})
	}
}
