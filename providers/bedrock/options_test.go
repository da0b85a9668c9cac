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

func TestModelIDsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"amazon.titan-text-lite-v1": "/model/amazon.titan-text-lite-v1/converse",
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2": "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2/converse",
		"odd%2Fid": "/model/odd%252Fid/converse",
	} {
		if got, _ := sent(t, hello(), model(id)); got.path != want {
			t.Errorf("want %s, got %s", want, got.path)
		}
	}
	got, _ := sent(t, hello(), func(o *bedrock.Options) { o.Endpoint += "/gateway/" })
	if !strings.HasPrefix(got.path, "/gateway/model/us.anthropic") {
		t.Errorf("%s", got.path)
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

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

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
	if got := s.last(t); !strings.Contains(got.header.Get("Authorization"), "AKIDCONFIG") || !strings.Contains(got.raw, `"additionalModelRequestFields":{"top_k":4}`) {
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
