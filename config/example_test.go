package config_test

import (
	"context"
	"fmt"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// A program brings the factories of the providers that it was built with; here a fake one.
func Example() {
	c, err := config.Parse([]byte(`
plans:
  triage: {attempt: 5s, targets: [fast]}
targets:
  - {name: fast, provider: fake, model: small, api_key: "${FAKE_API_KEY}"}
  - {name: good, provider: fake, model: large, api_key: "${FAKE_API_KEY}"}
`), func(name string) (string, bool) { return "k-123", name == "FAKE_API_KEY" })
	if err != nil {
		fmt.Println(err)
		return
	}
	fake := func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
		var s struct {
			Model string `yaml:"model"`
			Key   string `yaml:"api_key"`
		}
		if err := settings(&s); err != nil {
			return llm.Endpoint{}, err
		}
		return llm.Endpoint{Generator: llmtest.New(llmtest.Text("from " + s.Model)), Prompt: true}, nil
	}
	chain, err := c.Build(context.Background(), map[string]llm.Factory{"fake": fake}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := chain.Generate(context.Background(), &llm.Request{Operation: llm.Triage, Messages: []llm.Message{llm.User("Hi")}}, nil)
	fmt.Println(resp.Text(), err)
	fmt.Println(c.Origin("plans.triage.attempt"))
	// Output:
	// from small <nil>
	// llm.yaml:3:21
}

func ExampleError_Detail() {
	_, err := config.Parse([]byte(`plans:
  triage:     {attempt: 30}
  generation: {attempt: 45s, first_contnt: 15s}
targets:
  - {name: azure, provider: azure, api_key: "${AZURE_OPENAI_API_KEY}"}
`), nil)
	fmt.Printf("%+v", err)
	// Output:
	// llm.yaml:2:25: plans.triage.attempt: 30 has no unit
	//   2 |   triage:     {attempt: 30}
	//     |                         ^ write 30s
	// llm.yaml:3:30: plans.generation: unknown key "first_contnt"
	//   3 |   generation: {attempt: 45s, first_contnt: …}
	//     |                              ^ did you mean "first_content"?
	// llm.yaml:5:45: targets.azure.api_key: AZURE_OPENAI_API_KEY is not set
	//     | next: export it, or write api_key: "file:/run/secrets/azure"
}
