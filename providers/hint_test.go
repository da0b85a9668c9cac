package providers_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The gateway's header over the attempts of a call, in virtual time: a stand-in for the wire takes 3 s to say that the
// service is unavailable.
type gateway struct {
	end    time.Time // when the caller's time is up
	header []string  // of each request
	left   []int64   // whole seconds to the end, at each request
}

func (g *gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	g.header = append(g.header, strings.Join(req.Header.Values(gatewayHint().Name), "|"))
	g.left = append(g.left, int64(time.Until(g.end)/time.Second))
	time.Sleep(3 * time.Second)
	return &http.Response{
		StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}`)),
	}, nil
}

// overHTTP opens each adapter over HTTP on a client of its own.
var overHTTP = map[string]func(c *http.Client, h *deadline.Header) (closer, error){
	"azure": func(c *http.Client, h *deadline.Header) (closer, error) {
		return azure.New(&azure.Options{Endpoint: "https://azure.invalid", Deployment: "m", Key: "key", HTTP: c, Hint: h})
	},
	"compatible": func(c *http.Client, h *deadline.Header) (closer, error) {
		return azure.Compatible(&azure.CompatibleOptions{Model: "m", Key: "key", HTTP: c, Hint: h})
	},
	"bedrock": func(c *http.Client, h *deadline.Header) (closer, error) {
		return bedrock.New(&bedrock.Options{Region: "us-east-1", Model: nova, Credentials: signing, HTTP: c, Hint: h})
	},
	"vertex": func(c *http.Client, h *deadline.Header) (closer, error) {
		return vertex.New(&vertex.Options{Project: "p", Model: "gemini-2.5-flash", TokenSource: simulatedToken, HTTP: c, Hint: h})
	},
}

func TestHintOverTheAttemptsOfACall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		total  time.Duration // of the execution
		limits llm.Limits
		stream bool
		first  string
		later  bool // a later attempt has less, and the header says how much
	}{
		{"configured 895 s, 42.7 s left", 42*time.Second + 700*time.Millisecond, llm.Limits{}, false, "42", true},
		{"and for a stream", 42*time.Second + 700*time.Millisecond, llm.Limits{}, true, "42", true},
		{"more left than configured", 2000 * time.Second, llm.Limits{Attempt: 2000 * time.Second}, false, "895", false},
		{"an attempt has less than is left", 2000 * time.Second, llm.Limits{Attempt: 30 * time.Second}, false, "30", false},
		{"a stream may outlast what its first content may take", 800 * time.Second, llm.Limits{Attempt: 30 * time.Second}, true, "800", true},
		{"below one unit", 900 * time.Millisecond, llm.Limits{}, false, "", false},
	}
	for name, open := range overHTTP {
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := &gateway{end: time.Now().Add(tt.total)}
					p, err := open(&http.Client{Transport: g}, gatewayHint())
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := deadline.With(t.Context(), tt.total, nil)
					defer cancel()
					g.call(ctx, t, p, tt.limits, tt.stream)
					g.check(t, tt.first, tt.later, tt.total > 10*time.Second)
				})
			})
		}
	}
}

// call makes one call through a chain, which fails.
func (g *gateway) call(ctx context.Context, t *testing.T, p llm.Generator, limits llm.Limits, stream bool) {
	t.Helper()
	client, err := fallback.NewClient([]fallback.Target{{Name: "a", Generator: p, Prompt: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := bareRequest()
	req.Limits = limits
	if stream {
		_, err = client.Stream(ctx, req).Response()
	} else {
		_, err = client.Generate(ctx, req)
	}
	if err == nil {
		t.Fatal("the call was answered")
	}
}

func (g *gateway) check(t *testing.T, first string, later, again bool) {
	t.Helper()
	t.Logf("sent %q with %v s left", g.header, g.left)
	if len(g.header) == 0 || g.header[0] != first {
		t.Fatalf("sent %q, want first %q", g.header, first)
	}
	if again != (len(g.header) > 1) {
		t.Fatalf("%d attempts", len(g.header))
	}
	for i := 1; later && i < len(g.header); i++ {
		if want := strconv.FormatInt(g.left[i], 10); g.header[i] != want || g.left[i] >= g.left[i-1] {
			t.Errorf("attempt %d was sent %q, want %q, less than %q", i+1, g.header[i], want, g.header[i-1])
		}
	}
}

// TestHintSettings: the factories take the form of the configuration, and refuse another by name.
func TestHintSettings(t *testing.T) {
	t.Parallel()
	own := map[string]string{
		"azure":      `"endpoint":"http://127.0.0.1:1","deployment":"m","api_key":"k"`,
		"compatible": `"base_url":"http://127.0.0.1:1","model":"m"`,
		"bedrock":    `"region":"us-east-1","model":"m","endpoint":"http://127.0.0.1:1","access_key_id":"k","secret_access_key":"s"`,
		"vertex":     `"model":"m","endpoint":"http://127.0.0.1:1","api_key":"k"`,
	}
	factories := map[string]llm.Factory{
		"azure": azure.Factory(), "compatible": azure.CompatibleFactory(), "bedrock": bedrock.Factory(), "vertex": vertex.Factory(),
	}
	for name, factory := range factories {
		for text, want := range map[string]string{
			`{"header":"X-UiPath-LLMGateway-TimeoutSeconds","unit":"s","configured":895}`: "",
			`{"header":"X-Left","unit":"hours"}`:                                          "hint.unit: is unknown (use s or ms)",
			`{"header":"Authorization"}`:                                                  "hint: names a header that the request needs for something else",
			`{"unit":"s"}`:                                                                "hint.header: is empty",
		} {
			_, err := factory(t.Context(), jsonSettings("{"+own[name]+`,"hint":`+text+"}"))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %s: error is %v, want %q", name, text, err, want)
			}
		}
	}
}

// jsonSettings stands in for a section of a configuration, decoded as strictly.
func jsonSettings(text string) func(into any) error {
	return func(into any) error {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
}
