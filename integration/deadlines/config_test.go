package deadlines_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// hinted is a file with one target on each provider, all at one gateway, and the same hint for each.
const hinted = `
targets:
  - {name: azure, provider: azure, endpoint: %[1]q, deployment: m, api_key: k, hint: %[2]s}
  - {name: compatible, provider: compatible, base_url: %[1]q, model: m, hint: %[2]s}
  - {name: bedrock, provider: bedrock, endpoint: %[1]q, region: us-east-1, model: m, access_key_id: k, secret_access_key: s, hint: %[2]s}
  - {name: vertex, provider: vertex, endpoint: %[1]q, model: gemini-2.5-flash, api_key: k, hint: %[2]s}
`

func factories() map[string]llm.Factory {
	return map[string]llm.Factory{
		"azure": azure.Factory(), "compatible": azure.CompatibleFactory(), "bedrock": bedrock.Factory(), "vertex": vertex.Factory(),
	}
}

// TestHintOfAFile: the hint of a target reaches the gateway, whatever the provider, and only under a deadline.
func TestHintOfAFile(t *testing.T) {
	t.Parallel()
	const name = "X-UiPath-LLMGateway-TimeoutSeconds"
	seen := make(chan string, 1)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- strings.Join(r.Header.Values(name), "|")
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer gateway.Close()
	file := fmt.Sprintf(hinted, gateway.URL, "{header: "+name+", unit: s, configured: 895}")
	c, err := config.Parse([]byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := c.Build(t.Context(), factories(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = chain.Close(context.WithoutCancel(t.Context())) }()
	for target := range factories() {
		for total, want := range map[time.Duration]string{
			0: "", 2000 * time.Second: "895", 42*time.Second + 700*time.Millisecond: "42", 990 * time.Millisecond: "",
		} {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if total > 0 {
				ctx, cancel = deadline.With(ctx, total, nil)
			}
			req := question()
			req.Route.Only, req.Limits = []string{target}, llm.Limits{Attempt: time.Hour}
			if _, err := chain.Generate(ctx, req, nil); llm.KindOf(err) != llm.ErrInvalid {
				t.Errorf("%s, %v left: %v", target, total, err)
			}
			cancel()
			if got := <-seen; got != want {
				t.Errorf("%s, %v left: %s is %q, want %q", target, total, name, got, want)
			}
		}
	}
}

// TestHintOfAFileRefused: what is wrong with it is said by line, for each provider.
func TestHintOfAFileRefused(t *testing.T) {
	t.Parallel()
	for hint, want := range map[string]string{
		"{header: X-Left, unit: hours}":               "hint.unit",
		"{header: X-Left, unit: s, configured: 895s}": "configured",
		"{header: X-Left, unit: s, configured: -1}":   "hint.configured",
		"{unit: s}":                                        "hint.header",
		"{header: Authorization}":                          "hint",
		"{name: X-Left, unit: s, max: 895}":                "name",
		"{header: X-Left, unit: s, configured: 100000000}": "longer than a day",
	} {
		for _, line := range strings.Split(strings.TrimSpace(fmt.Sprintf(hinted, "http://127.0.0.1:1", hint)), "\n")[1:] {
			c, err := config.Parse([]byte("targets:\n"+line+"\n"), nil)
			if err == nil {
				_, err = c.Build(t.Context(), factories(), nil)
			}
			if err == nil || !strings.Contains(err.Error(), "llm.yaml:2:") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nerror is %v, want a place and %q", line, err, want)
			}
		}
	}
}
