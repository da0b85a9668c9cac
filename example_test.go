package punctual_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// account starts a simulated account that throttles once and then answers, and writes a file that names it twice.
func account() (file string, stop func()) {
	server := simazure.StartOptions(&simazure.Options{Script: []simazure.Turn{
		{Step: llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited})}, {Step: llmtest.Text("normal")},
	}})
	file, remove := tempFile(fmt.Sprintf(`plans:
  triage: {attempt: 30s}
targets:
  - {name: first,  provider: azure, endpoint: %[1]q, deployment: gpt-4o,      api_version: "2024-10-21", api_key: simulated}
  - {name: second, provider: azure, endpoint: %[1]q, deployment: gpt-4o-mini, api_version: "2024-10-21", api_key: simulated}
`, server.URL))
	return file, func() { server.Close(); remove() }
}

// tempFile puts a configuration into a folder of its own.
func tempFile(text string) (file string, remove func()) {
	dir, err := os.MkdirTemp("", "punctual")
	if err != nil {
		panic(err)
	}
	file = filepath.Join(dir, "llm.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return file, func() { _ = os.RemoveAll(dir) }
}

// A triage node: the first target throttles, so the second one is asked.
func Example() {
	file, stop := account()
	defer stop()

	ctx := context.Background()
	client, err := punctual.Open(ctx, file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	resp, err := client.Generate(ctx, &llm.Request{
		Operation: llm.Triage,
		System:    "Answer urgent, normal or spam.",
		Messages:  []llm.Message{llm.User("My invoice is wrong.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text())
	for _, a := range resp.Attempts {
		fmt.Printf("%s: %q\n", a.Target, string(a.Kind)) // "": it answered
	}
	// Output:
	// normal
	// first: "rate_limited"
	// second: ""
}

// A provider of one's own stands in the file like any other. The keys of its targets are the yaml tags of a struct.
func ExampleOptions() {
	echo := func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
		var s struct {
			Prefix string `yaml:"prefix"`
		}
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		answer := llmtest.Text(s.Prefix + "Hello.") // where a provider would ask its model
		return llm.Endpoint{Generator: llmtest.New(answer), Model: llm.ModelRef{Provider: "echo", Model: "one"}}, nil
	}
	file, stop := tempFile("targets: [{name: mine, provider: echo, prefix: 'You said: '}]\n")
	defer stop()

	ctx := context.Background()
	client, err := punctual.Open(ctx, file, &punctual.Options{Providers: map[string]llm.Factory{"echo": echo}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	resp, err := client.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("Hello.")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Target, resp.Model, resp.Text())
	// Output: mine echo/one You said: Hello.
}

// A load balancer asks whether there is anybody to ask.
func ExampleClient_Health() {
	file, stop := account()
	defer stop()
	client, err := punctual.Open(context.Background(), file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	mux := http.NewServeMux()
	mux.Handle("GET /healthz", client.Health())

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/healthz", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// 200 {"usable":true,"targets":[{"target":"first","model":"azure/gpt-4o","usable":true,"breaker":"closed","score":0,"tokens":100,"in_flight":0},{"target":"second","model":"azure/gpt-4o-mini","usable":true,"breaker":"closed","score":0,"tokens":100,"in_flight":0}]}
}
