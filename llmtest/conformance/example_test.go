package conformance_test

import (
	"fmt"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/conformance"
)

// The test of a provider hands the suite a way to open it against a simulated cloud that plays a script; here a
// Fake stands in for both. An example has no *testing.T, so this one only shows the shape.
func ExampleRun() {
	testContract := func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, conformance.Harness{
			New: func(_ *testing.T, script ...llmtest.Step) llm.Generator {
				return llmtest.New(script...)
			},
			Skip: map[string]string{
				"cancel_token": "the key is in the settings, no token is fetched",
			},
		})
	}
	fmt.Printf("%T\n", testContract)
	// Output: func(*testing.T)
}
