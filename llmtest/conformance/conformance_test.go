package conformance

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFakeKeepsTheContract(t *testing.T) {
	t.Parallel()
	Run(t, Harness{New: func(_ *testing.T, script ...llmtest.Step) llm.Generator {
		return llmtest.New(script...)
	}})
}

// TestDetachedKeepsTheContract: what makes foreign code punctual must take nothing away from code that is.
func TestDetachedKeepsTheContract(t *testing.T) {
	t.Parallel()
	Run(t, Harness{New: func(_ *testing.T, script ...llmtest.Step) llm.Generator {
		return llm.Detached(llmtest.New(script...))
	}})
}
