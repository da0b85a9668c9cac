//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pipe makes a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	return path
}

// TestInterruptWhileReading: whatever a command reads may be a pipe that nobody writes to, and Ctrl-C ends it there too.
func TestInterruptWhileReading(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"generate", "-c", "PIPE", "hi"},
		{"check", "-c", "PIPE"},
		{"generate", "-demo", "-file", "PIPE", "hi"},
		{"generate", "-demo", "-schema", "PIPE", "hi"},
		{"sim", "-replay", "PIPE"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			path := pipe(t)
			for i := range args {
				args[i] = strings.Replace(args[i], "PIPE", path, 1)
			}
			ctx, interrupt := context.WithCancel(t.Context())
			type ended struct {
				status int
				stderr string
			}
			done := make(chan ended, 1)
			go func() {
				status, _, stderr := command(ctx, nil, "", args...)
				done <- ended{status, stderr}
			}()
			writer, err := os.OpenFile(path, os.O_WRONLY, 0) // opens once the command has
			if err != nil {
				t.Fatal(err)
			}
			interrupt()
			limit, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			select {
			case e := <-done:
				if e.status != exitInterrupted || !strings.Contains(e.stderr, "interrupted") {
					t.Errorf("%d %s", e.status, e.stderr)
				}
			case <-limit.Done():
				t.Error("reads on")
			}
			if err := writer.Close(); err != nil { // what was left behind ends
				t.Error(err)
			}
		})
	}
}

// TestAFileThatCanBeReadOnce: a shell's <(…) is a pipe, as is what a secret store writes to.
func TestAFileThatCanBeReadOnce(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	go func() {
		_ = os.WriteFile(path, []byte("targets: [{name: once, provider: openai, model: m}]\n"), 0o600)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	status, stdout, stderr := command(ctx, nil, "", "check", "-c", path)
	if status != exitDone || !strings.Contains(stdout, "once") {
		t.Errorf("%d %s%s", status, stdout, stderr)
	}
}

// TestAConfigurationThatIsNoFile: what has the usual name and cannot be read is an error, not an empty environment.
func TestAConfigurationThatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for kind, make := range map[string]func() error{
		"directory": func() error { return os.Mkdir(defaultFile, 0o700) },
		"no such":   func() error { return os.Symlink("nowhere", defaultFile) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check"}, {"generate", "hi"}} {
			status, _, stderr := command(t.Context(), nil, "", args...)
			if status != exitConfig || !strings.Contains(stderr, "llm.yaml: cannot be read") || !strings.Contains(stderr, kind) {
				t.Errorf("%s: %d %s", kind, status, stderr)
			}
		}
		if err := os.Remove(defaultFile); err != nil {
			t.Fatal(err)
		}
	}
}
