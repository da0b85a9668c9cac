//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// TestHangUpReadsTheFileAgain: at once while a line is waited for, whether the file changed or not; and what can be
// read once only is not waited for. Nothing else may run at the time: a signal is the whole process's.
func TestHangUpReadsTheFileAgain(t *testing.T) {
	server := simazure.StartOptions(&simazure.Options{Key: secret, Script: turns(llmtest.Text("fine"))})
	t.Cleanup(server.Close)
	text := "targets: [{name: a, provider: azure, endpoint: '" + server.URL + "', deployment: gpt-4o, api_version: '2024-10-21', api_key: " + secret + "}]\n"
	here(t, text)
	once := pipe(t)
	for _, tt := range []struct {
		file, want string
	}{
		{defaultFile, "llm.yaml read again: 1 target\n"},
		{once, "the plans from before stay: it is a pipe, which can be read once only\n"},
	} {
		go func() {
			if tt.file == once {
				_ = os.WriteFile(once, []byte(text), 0o600)
			}
		}()
		s := startLines(t.Context(), t, "-c", tt.file)
		s.ask("fine\n") // it listens for signals now
		if s.stderr.String() != "" {
			t.Errorf("told of nothing: %s", s.stderr)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		s.wait(s.stderr, 0, tt.want)
		s.ask("fine\n")
		if status := s.end(); status != exitDone {
			t.Errorf("%d %s", status, s.stderr)
		}
	}
}
