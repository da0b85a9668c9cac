package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the schema and the page anew")

// providers are those of the root package.
func providers() map[string]llm.Factory { return punctual.Providers() }

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// same compares a file with what it is made from, or makes it.
func same(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, file); got != want {
		t.Errorf("%s is not what the types say: go test ./integration/config -update", file)
	}
}
