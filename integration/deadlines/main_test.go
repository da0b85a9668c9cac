package deadlines_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVariable turns the test binary into the agent; its value is what it does with its calls.
const childVariable = "PUNCTUAL_DEADLINES_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		os.Exit(agent(how == "stream"))
	}
	goleak.VerifyTestMain(m)
}
