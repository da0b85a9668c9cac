package bedrock_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

func TestOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(*bedrock.Options)
	}{
		{"model", func(o *bedrock.Options) { o.Model = "" }},
		{"model", func(o *bedrock.Options) { o.Model = "secret model\n" }},
		{"region", func(o *bedrock.Options) { o.Region = "" }},
		{"region", func(o *bedrock.Options) { o.Region = "secret.example/" }},
		{"bearer_token", func(o *bedrock.Options) { o.BearerToken = "secret" }},
		{"bearer_token", func(o *bedrock.Options) { o.Credentials, o.BearerToken = nil, "secret\n" }},
		{"endpoint", func(o *bedrock.Options) { o.Endpoint = "secret" }},
		{"endpoint", func(o *bedrock.Options) { o.Endpoint = "https://secret:x@host" }},
		{"endpoint", func(o *bedrock.Options) { o.Endpoint = "https://host?secret" }},
		{"endpoint", func(o *bedrock.Options) { o.Credentials, o.BearerToken, o.Endpoint = nil, "secret", "http://10.0.0.1" }},
		{"guardrail", func(o *bedrock.Options) { o.Guardrail = &bedrock.Guardrail{ID: "secret"} }},
		{"parameters", func(o *bedrock.Options) { o.Parameters = map[string]any{"secret": func() {}} }},
	} {
		o := &bedrock.Options{Region: "us-east-1", Model: "m", Credentials: keys("AKID")}
		c.change(o)
		_, err := bedrock.New(o)
		badField(t, err, llm.ErrInvalid, c.field, "secret")
	}
	_, err := bedrock.New(nil)
	badField(t, err, llm.ErrInvalid, "options")
}

// Where Options.Endpoint is empty the variables decide, as with AWS's own SDKs.
func TestTheEndpointOfTheEnvironment(t *testing.T) {
	const service, all, off = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
	const aws = "https://bedrock-runtime.us-east-1.amazonaws.com"
	for name, c := range map[string]struct {
		set            map[string]string
		endpoint, want string
	}{
		"none":             {nil, "", aws},
		"service":          {map[string]string{service: "http://127.0.0.1:81"}, "", "http://127.0.0.1:81"},
		"all":              {map[string]string{all: "https://all.example/gw"}, "", "https://all.example/gw"},
		"service and all":  {map[string]string{service: "http://127.0.0.1:81", all: "https://all.example"}, "", "http://127.0.0.1:81"},
		"options":          {map[string]string{service: "http://127.0.0.1:81", all: "https://all.example"}, "https://own.example", "https://own.example"},
		"ignored":          {map[string]string{service: "secret", all: "https://all.example", off: "True"}, "", aws},
		"not ignored":      {map[string]string{all: "https://all.example", off: "false"}, "", "https://all.example"},
		"options, ignored": {map[string]string{all: "https://all.example", off: "true"}, "https://own.example", "https://own.example"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.set {
				t.Setenv(k, v)
			}
			asked := ""
			p, err := bedrock.New(&bedrock.Options{
				Region: "us-east-1", Model: "m", Credentials: keys("AKID"), Endpoint: c.endpoint,
				HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					asked = r.URL.String()
					return nil, errors.New("no network here")
				})},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = unary(t, p, hello())
			if asked != c.want+"/model/m/converse" {
				t.Errorf("asked %s", asked)
			}
		})
	}
	for _, bad := range []string{"secret", "https://u:secret@h", "https://h?secret", "http://10.0.0.1"} {
		t.Setenv(all, bad)
		_, err := bedrock.New(&bedrock.Options{Region: "us-east-1", Model: "m", BearerToken: "k"})
		badField(t, err, llm.ErrInvalid, "endpoint", "secret")
		if !strings.Contains(err.Error(), all) {
			t.Errorf("%v", err)
		}
	}
}

func TestModelIDsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"amazon.titan-text-lite-v1": "/model/amazon.titan-text-lite-v1/converse",
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2": "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/converse",
		"odd%2Fid": "/model/odd%252Fid/converse",
	} {
		if got, _ := sent(t, hello(), model(id)); got.Path != want {
			t.Errorf("want %s, got %s", want, got.Path)
		}
	}
	got, _ := sent(t, hello(), func(o *bedrock.Options) { o.Endpoint += "/gateway/" })
	if !strings.HasPrefix(got.Path, "/gateway/model/us.anthropic") {
		t.Errorf("%s", got.Path)
	}
}

func TestTheCallersClientIsUsedWithoutItsTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	var n int
	client := &http.Client{Timeout: time.Nanosecond, Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		n++
		return http.DefaultTransport.RoundTrip(req)
	})}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	if _, err := unary(t, s.provider(t, func(o *bedrock.Options) { o.HTTP = client }), hello()); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestTheServiceIsFoundByItsRegion(t *testing.T) {
	t.Parallel()
	var host string
	p := serve(t, nil).provider(t, func(o *bedrock.Options) {
		o.Endpoint, o.Region = "", "eu-central-1"
		o.HTTP = &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			host = req.URL.Scheme + "://" + req.URL.Host
			return nil, errors.New("no network")
		})}
	})
	_, err := unary(t, p, hello())
	if e := failed(t, err, llm.ErrConnection); !e.NotSent || host != "https://bedrock-runtime.eu-central-1.amazonaws.com" {
		t.Errorf("%s, %+v", host, e)
	}
}

// A panic inside the SDK, here under it, is an error.
func TestAPanicOfTheSDKIsAnError(t *testing.T) {
	t.Parallel()
	p := serve(t, nil).provider(t, func(o *bedrock.Options) {
		o.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { panic("secret") })}
	})
	_, err := unary(t, p, hello())
	if e := failed(t, err, llm.ErrBadOutput); e.Code != "sdk_panic" || strings.Contains(e.Detail(), "secret") {
		t.Errorf("%+v", e)
	}
}

func TestFactory(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	section := func(text string) func(any) error {
		return func(into any) error {
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			return d.Decode(into)
		}
	}
	e, err := bedrock.Factory()(t.Context(), section(`{"region":"us-east-1","model":"`+claude+`","family":"anthropic","endpoint":"`+s.URL+`",
		"access_key_id":"AKIDCONFIG","secret_access_key":"s","session_token":"t","parameters":{"top_k":4},
		"guardrail":{"id":"g","version":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if e.Model != (llm.ModelRef{Provider: "bedrock", Model: claude}) || !e.Prompt || !e.Can.Streams {
		t.Errorf("%+v", e)
	}
	if _, err := unary(t, e.Generator, hello()); err != nil {
		t.Fatal(err)
	}
	if got := s.Last(t); !strings.Contains(got.Header.Get("Authorization"), "AKIDCONFIG") || !strings.Contains(got.Raw, `"additionalModelRequestFields":{"top_k":4}`) {
		t.Errorf("%+v", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for text, field := range map[string]string{
		`{"model":"m","region":"r","access_key_id":"a"}`: "access_key_id", `{"region":"r"}`: "model",
		`{"model":"m","region":"r","bearer_token":"b","endpoint":"x"}`: "endpoint",
	} {
		_, err := bedrock.Factory()(t.Context(), section(text))
		badField(t, err, llm.ErrInvalid, field)
	}
	if _, err := bedrock.Factory()(t.Context(), section(`{"unknown":"m"}`)); err == nil {
		t.Error("an unknown key is taken")
	}
}
