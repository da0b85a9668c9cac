//go:build unix

package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/config"
)

// TestAFileWithoutEnd: a device that gives zeros for ever is not read into memory, as the file or as a value of it.
func TestAFileWithoutEnd(t *testing.T) {
	t.Parallel()
	const endless = "/dev/zero"
	if _, err := os.Stat(endless); err != nil {
		t.Skip(err)
	}
	_, whole := config.Load(endless)
	file := t.TempDir() + "/llm.yaml"
	if err := os.WriteFile(file, []byte("targets: [{name: a, provider: azure, api_key: \"file:"+endless+"\"}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, value := config.Load(file)
	for _, err := range []error{whole, value} {
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("got %v", err)
		}
	}
}
