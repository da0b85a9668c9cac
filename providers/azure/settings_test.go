package azure_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func TestTheEndpointDecidesThePath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint, deployment, version string
		want                          string
	}{
		"deployment":                   {"", "gpt-4o", "2024-10-21", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"},
		"slash at the end":             {"/", "gpt-4o", "2024-10-21", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"},
		"openai at the end":            {"/openai/", "gpt-4o", "2024-10-21", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"},
		"v1":                           {"", "gpt-4o", "", "/openai/v1/chat/completions"},
		"v1 spelled out":               {"/openai/v1", "gpt-4o", "", "/openai/v1/chat/completions"},
		"v1 with a version":            {"/openai/v1/", "gpt-4o", "preview", "/openai/v1/chat/completions?api-version=preview"},
		"azure ai":                     {"/models", "grok-4", "2024-05-01-preview", "/models/chat/completions?api-version=2024-05-01-preview"},
		"gateway with a prefix":        {"/team/llm", "gpt-4o", "2024-10-21", "/team/llm/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"},
		"deployment in the endpoint":   {"/openai/deployments/gpt-4o", "", "", "/openai/deployments/gpt-4o/chat/completions"},
		"target URI of the portal":     {"/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "", "", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"},
		"target URI of v1":             {"/openai/v1/chat/completions", "gpt-4o", "", "/openai/v1/chat/completions"},
		"target URI of azure ai":       {"/models/chat/completions?api-version=2024-05-01-preview", "grok-4", "", "/models/chat/completions?api-version=2024-05-01-preview"},
		"name with dots":               {"", "gpt-4.1-mini_v1.0", "2024-10-21", "/openai/deployments/gpt-4.1-mini_v1.0/chat/completions?api-version=2024-10-21"},
		"name with 3.5 and a colon":    {"", "gpt-3.5-turbo:x", "2024-10-21", "/openai/deployments/gpt-3.5-turbo:x/chat/completions?api-version=2024-10-21"},
		"name with a slash and blanks": {"", "team/a b", "2024-10-21", "/openai/deployments/team%2Fa%20b/chat/completions?api-version=2024-10-21"},
		"name with a per cent sign":    {"", "50%off", "2024-10-21", "/openai/deployments/50%25off/chat/completions?api-version=2024-10-21"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply(200, ok))
			p := keep(t)(azure.New(&azure.Options{
				Endpoint: s.URL + c.endpoint, Deployment: c.deployment, APIVersion: c.version, Key: "key",
			}))
			resp, err := unary(t, p, hello())
			if err != nil {
				t.Fatal(err)
			}
			got := s.Last(t)
			if got.Path != c.want {
				t.Errorf("want %s, got %s", c.want, got.Path)
			}
			if got.Header.Get("Api-Key") != "key" || got.Header.Get("Authorization") != "" {
				t.Errorf("the key went into %v", got.Header)
			}
			if wantExtra := strings.Contains(c.want, "/models/"); (got.Header.Get("Extra-Parameters") == "pass-through") != wantExtra {
				t.Errorf("extra-parameters: %q", got.Header.Get("Extra-Parameters"))
			}
			if got.Body["model"] != resp.Model.Model || resp.Model.Provider != "azure" {
				t.Errorf("want the model %v of azure, got %v", got.Body["model"], resp.Model)
			}
		})
	}
}

func TestCompatibleAddsThePathToItsBase(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                              "/chat/completions",
		"/v1":                           "/v1/chat/completions",
		"/v1/":                          "/v1/chat/completions",
		"/v1/chat/completions":          "/v1/chat/completions",
		"/openai/deployments/a%2Fb":     "/openai/deployments/a%2Fb/chat/completions",
		"/openai/deployments/gpt-4.1:x": "/openai/deployments/gpt-4.1:x/chat/completions",
	} {
		s := serve(t, reply(200, ok))
		p := s.provider(t, func(o *azure.CompatibleOptions) { o.BaseURL = s.URL + base })
		resp, err := unary(t, p, hello())
		if err != nil {
			t.Fatal(err)
		}
		got := s.Last(t)
		if got.Path != want || got.Header.Get("Authorization") != "Bearer sk-test" || got.Header.Get("Api-Key") != "" {
			t.Errorf("%q: want %s with a bearer token, got %s and %v", base, want, got.Path, got.Header)
		}
		if resp.Model != (llm.ModelRef{Provider: "openai", Model: "m"}) || resp.Message.From != resp.Model {
			t.Errorf("the model is %v, from %v", resp.Model, resp.Message.From)
		}
	}
}

func TestCompatibleWorksWithoutAKey(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t, func(o *azure.CompatibleOptions) { o.Key, o.Provider = "", "vllm" })
	resp, err := unary(t, p, hello())
	if err != nil {
		t.Fatal(err)
	}
	if h := s.Last(t).Header; h.Get("Authorization") != "" || h.Get("Api-Key") != "" {
		t.Errorf("a credential from nowhere: %v", h)
	}
	if resp.Model.Provider != "vllm" {
		t.Errorf("the provider is %q", resp.Model.Provider)
	}
}

func TestSettingsThatCannotWorkAreRefusedByName(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	good := azure.Options{Endpoint: "https://x.openai.azure.com", Deployment: "d", Key: secret}
	for name, c := range map[string]struct {
		field  string
		change func(o *azure.Options)
	}{
		"no endpoint":            {"endpoint", func(o *azure.Options) { o.Endpoint = "" }},
		"no scheme":              {"endpoint", func(o *azure.Options) { o.Endpoint = "x.openai.azure.com" }},
		"another scheme":         {"endpoint", func(o *azure.Options) { o.Endpoint = "ftp://x" }},
		"a user in the endpoint": {"endpoint", func(o *azure.Options) { o.Endpoint = "https://u:" + secret + "@x" }},
		"a key in the endpoint":  {"endpoint", func(o *azure.Options) { o.Endpoint = "https://x?key=" + secret }},
		"a fragment":             {"endpoint", func(o *azure.Options) { o.Endpoint = "https://x#y" }},
		"broken address":         {"endpoint", func(o *azure.Options) { o.Endpoint = "https://x/%zz" }},
		"no deployment":          {"deployment", func(o *azure.Options) { o.Deployment = "" }},
		"two deployments":        {"deployment", func(o *azure.Options) { o.Endpoint += "/openai/deployments/other" }},
		"two versions":           {"api_version", func(o *azure.Options) { o.Endpoint += "?api-version=1"; o.APIVersion = "2" }},
		"a version of two lines": {"api_version", func(o *azure.Options) { o.APIVersion = "2024-10-21\n" }},
		"no credential":          {"api_key", func(o *azure.Options) { o.Key = "" }},
		"two credentials":        {"api_key", func(o *azure.Options) { o.Token = token("t") }},
		"a key with a line end":  {"api_key", func(o *azure.Options) { o.Key += "\n" }},
		"messages as parameter":  {"parameters", func(o *azure.Options) { o.Parameters = map[string]any{"messages": 1} }},
		"a value that is no JSON": {"parameters", func(o *azure.Options) {
			o.Parameters = map[string]any{"x": make(chan int)}
		}},
	} {
		o := good
		c.change(&o)
		p, err := azure.New(&o)
		if p != nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		badField(t, err, llm.ErrInvalid, c.field, secret)
	}
	_, err := azure.New(nil)
	badField(t, err, llm.ErrInvalid, "options")
}

func TestCompatibleSettingsThatCannotWorkAreRefusedByName(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	for field, o := range map[string]*azure.CompatibleOptions{
		"options":    nil,
		"model":      {Key: secret},
		"base_url":   {Model: "m", BaseURL: "localhost:8000/v1", Key: secret},
		"api_key":    {Model: "m", Key: secret + " "},
		"parameters": {Model: "m", Parameters: map[string]any{"stream": true}},
	} {
		_, err := azure.Compatible(o)
		badField(t, err, llm.ErrInvalid, field, secret)
	}
	_, err := azure.Compatible(&azure.CompatibleOptions{Model: "m", BaseURL: "http://x/v1?key=" + secret})
	badField(t, err, llm.ErrInvalid, "base_url", secret)
	_, err = azure.Compatible(&azure.CompatibleOptions{Model: "m", Key: secret, Token: token("t")})
	badField(t, err, llm.ErrInvalid, "api_key", secret)
}

func TestACustomClientKeepsItsTransport(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	var used int
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	p := s.provider(t, func(o *azure.CompatibleOptions) {
		o.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			used++
			return transport.RoundTrip(r)
		})}
	})
	if _, err := unary(t, p, hello()); err != nil || used != 1 {
		t.Errorf("%d requests went over the transport, %v", used, err)
	}
}

// TestADeploymentMayBeNamedLikeAnyModel: go-openai has rules for models of certain names, and an Azure
// deployment may have any name.
func TestADeploymentMayBeNamedLikeAnyModel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"gpt-5.2-prod", "o1", "o3-mini", "o4", "gpt-6-sol", "gpt-6-astra", "gpt-6.1-sol", "text-davinci-003", "code-davinci-002",
	} {
		s := serve(t, reply(200, ok))
		p := keep(t)(azure.New(&azure.Options{
			Endpoint: s.URL, Deployment: name, APIVersion: "2024-10-21", Key: "key", LegacyMaxTokens: true,
		}))
		req := hello()
		req.MaxTokens, req.Temperature, req.TopP = 10, new(0.5), new(0.5)
		req.Thinking.Effort = "low"
		req.Tools = []llm.Tool{{Name: "f"}}
		if err := (azure.Extra{LogProbs: true, PresencePenalty: new(0.5)}).Set(req); err != nil {
			t.Fatal(err)
		}
		if _, err := unary(t, p, req); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.Last(t); got.Body["temperature"] != 0.5 || !strings.Contains(got.Path, "/"+name+"/") {
			t.Errorf("%s: sent %v to %s", name, got.Body, got.Path)
		}
	}
}

// TestANameThatNoServerKnows: what a variable or a block of YAML puts around a name is told before anything is sent.
func TestANameThatNoServerKnows(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gpt-4o\n", " gpt-4o", "gpt-4o\t", "gpt\x004o", "gpt-4o\r\n", "gpt\u00854o", " ", "\xff"} {
		_, err := azure.New(&azure.Options{Endpoint: "https://a.example", Deployment: name, Key: "k"})
		_, other := azure.Compatible(&azure.CompatibleOptions{BaseURL: "https://a.example/v1", Model: name})
		for field, err := range map[string]error{"deployment": err, "model": other} {
			if f, ok := errors.AsType[*llm.FieldError](err); !ok || f.Field != field || f.Next == "" {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, name := range []string{"gpt-4o", "my model (Q4)", "org/model:7b", "modèle"} {
		if _, err := azure.Compatible(&azure.CompatibleOptions{BaseURL: "https://a.example/v1", Model: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
