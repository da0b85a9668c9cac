package vertex_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// catcher is a transport that answers every request and keeps it.
type catcher struct{ req *http.Request }

func (c *catcher) RoundTrip(req *http.Request) (*http.Response, error) {
	c.req = req
	return nil, errors.New("no network here")
}

func TestWhereACallGoes(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "tok", nil }
	const models = "/publishers/google/models/m:generateContent"
	for want, o := range map[string]vertex.Options{
		"https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global" + models:                         {Project: "p", TokenSource: token},
		"https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4" + models:      {Project: "p", Location: "europe-west4", TokenSource: token},
		"https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu" + models:                      {Project: "p", Location: "eu", TokenSource: token},
		"https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1" + models:        {Project: "p", Location: "us-central1", APIKey: "key"},
		"https://aiplatform.googleapis.com/v1beta1" + models:                                                     {Location: "global", APIKey: "key"},
		"https://generativelanguage.googleapis.com/v1beta/models/m:generateContent":                              {APIKey: "key"},
		"https://gw.example/any/prefix/v1beta1/projects/p/locations/global" + models:                             {Project: "p", TokenSource: token, Endpoint: "https://gw.example/any/prefix/"},
		"http://gw.example:81/v1/projects/x.com:p/locations/us" + models:                                         {Project: "x.com:p", Location: "us", TokenSource: token, Endpoint: "http://gw.example:81/v1"},
		"https://gw.example/g/v1/models/m:generateContent":                                                       {APIKey: "key", Endpoint: "https://gw.example/g/v1"},
		"https://us-east5-aiplatform.googleapis.com/v1beta1/projects/q/locations/l/endpoints/12:generateContent": {Project: "p", Location: "us-east5", TokenSource: token, Model: "projects/q/locations/l/endpoints/12"},
		"https://us-east5-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-east5/publishers/meta/models/llama:generateContent": {
			Project: "p", Location: "us-east5", TokenSource: token, Model: "meta/llama",
		},
	} {
		c := new(catcher)
		if o.HTTP = (&http.Client{Transport: c}); o.Model == "" {
			o.Model = "m"
		}
		_, err := unary(t, keep(t)(vertex.New(&o)), hello())
		if e := failed(t, err, llm.ErrConnection); !e.NotSent {
			t.Errorf("%+v", e)
		}
		if got := c.req.URL.String(); got != want {
			t.Errorf("asked %s\nwant  %s", got, want)
		}
		key, bearer := c.req.Header.Get("X-Goog-Api-Key"), c.req.Header.Get("Authorization")
		if key != o.APIKey || (bearer == "Bearer tok") != (o.APIKey == "") {
			t.Errorf("%s: key %q, authorization %q", want, key, bearer)
		}
	}
}

// Where Options.Endpoint is empty the variable of that service decides, as with Google's own libraries.
func TestTheEndpointOfTheEnvironment(t *testing.T) {
	t.Setenv("GOOGLE_VERTEX_BASE_URL", "https://vertex.example/gw/v1")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:81/")
	const model = "/models/m:generateContent"
	for want, o := range map[string]vertex.Options{
		"https://vertex.example/gw/v1/projects/p/locations/us/publishers/google" + model: {Project: "p", Location: "us"},
		"https://vertex.example/gw/v1/publishers/google" + model:                         {Location: "global"},
		"http://127.0.0.1:81/v1beta" + model:                                             {},
		"https://own.example/v1beta" + model:                                             {Endpoint: "https://own.example"},
		"https://own.example/v1beta1/publishers/google" + model:                          {Location: "global", Endpoint: "https://own.example"},
	} {
		c := new(catcher)
		o.Model, o.APIKey, o.HTTP = "m", "key", &http.Client{Transport: c}
		_, _ = unary(t, keep(t)(vertex.New(&o)), hello())
		if got := c.req.URL.String(); got != want {
			t.Errorf("asked %s\nwant  %s", got, want)
		}
	}
	for _, bad := range []string{"secret", "https://u:secret@h", "https://h?secret"} {
		t.Setenv("GOOGLE_VERTEX_BASE_URL", bad)
		_, err := vertex.New(&vertex.Options{Project: "p", Model: "m", APIKey: "key"})
		badField(t, err, llm.ErrInvalid, "endpoint", "secret")
		if !strings.Contains(err.Error(), "GOOGLE_VERTEX_BASE_URL") {
			t.Errorf("%v", err)
		}
		if _, err := vertex.New(&vertex.Options{Model: "m", APIKey: "key"}); err != nil {
			t.Error(err)
		}
	}
}

func TestNoOtherVariableChangesAnything(t *testing.T) {
	for _, name := range []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"} {
		t.Setenv(name, "from-env")
	}
	s := serve(t, reply(200, ok))
	for _, o := range []vertex.Options{
		{Project: "p", Location: "us"},
		{Location: "us"},
		{},
	} {
		o.Model, o.Endpoint, o.APIKey = "m", s.URL, "key"
		if _, err := unary(t, keep(t)(vertex.New(&o)), hello()); err != nil {
			t.Fatal(err)
		}
		if got := s.Last(t); strings.Contains(got.Path, "env") || got.Header.Get("X-Goog-Api-Key") != "key" {
			t.Errorf("%+v", got)
		}
	}
	c := new(catcher)
	_, _ = unary(t, keep(t)(vertex.New(&vertex.Options{Model: "m", APIKey: "key", HTTP: &http.Client{Transport: c}})), hello())
	if c.req.URL.Host != "generativelanguage.googleapis.com" {
		t.Errorf("asked %s", c.req.URL)
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "", nil }
	good := vertex.Options{Project: "p", Location: "us", Model: "m", APIKey: "k"}
	for name, test := range map[string]struct {
		field  string
		change func(*vertex.Options)
	}{
		"nothing":       {"project", func(o *vertex.Options) { *o = vertex.Options{} }},
		"project":       {"project", func(o *vertex.Options) { o.Project = "../secret" }},
		"location":      {"location", func(o *vertex.Options) { o.Location = "evil.example/secret" }},
		"no model":      {"model", func(o *vertex.Options) { o.Model = "" }},
		"model":         {"model", func(o *vertex.Options) { o.Model = "m?secret=1" }},
		"model up":      {"model", func(o *vertex.Options) { o.Model = "a/../secret" }},
		"both":          {"api_key", func(o *vertex.Options) { o.TokenSource = token }},
		"line end":      {"api_key", func(o *vertex.Options) { o.APIKey = "secret\n" }},
		"no address":    {"endpoint", func(o *vertex.Options) { o.Endpoint = "secret" }},
		"user":          {"endpoint", func(o *vertex.Options) { o.Endpoint = "https://u:secret@h" }},
		"query":         {"endpoint", func(o *vertex.Options) { o.Endpoint = "https://h/?secret" }},
		"parameters":    {"parameters", func(o *vertex.Options) { o.Parameters = map[string]any{"contents": "secret"} }},
		"no JSON value": {"parameters", func(o *vertex.Options) { o.Parameters = map[string]any{"a": func() {}} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := good
			test.change(&o)
			_, err := vertex.New(&o)
			badField(t, err, llm.ErrInvalid, test.field, "secret")
		})
	}
	_, err := vertex.New(nil)
	badField(t, err, llm.ErrInvalid, "options")
}
