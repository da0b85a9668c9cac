//go:build unix

package integration_test

import (
	"errors"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestSimStopsAtASignal(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := startSim(t)
			account.signal(t, s)
			account.ends(t, 0)
			if _, err := net.Dial("tcp", strings.TrimPrefix(account.url, "http://")); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial: %v, want connection refused", err)
			}
			if account.stderr.String() != "" {
				t.Errorf("it says %q", account.stderr.String())
			}
		})
	}
}

func TestSimStopsWhileARequestHangs(t *testing.T) {
	t.Parallel()
	account := startSim(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(account.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	body := `{"messages":[{"role":"user","content":"x"}]}`
	_, err = conn.Write([]byte("POST /openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21 HTTP/1.1\r\n" +
		"Host: sim\r\nApi-Key: k\r\nX-Punctual-Fault: hang=body\r\nContent-Type: application/json\r\nContent-Length: 44\r\n\r\n" + body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the answer has begun: the request is being served
		t.Fatal(err)
	}
	account.signal(t, syscall.SIGTERM)
	account.ends(t, 0)
	if got := account.log(t); len(got) != 1 || !strings.HasSuffix(got[0], " 200") {
		t.Errorf("the log has %q, want the request that hung", got)
	}
}

func TestSimPassesASignalOnToItsCommand(t *testing.T) {
	t.Parallel()
	ready := regexp.MustCompile(`(?m)^ready$`)
	t.Run("SIGTERM to sim alone", func(t *testing.T) {
		t.Parallel()
		p := run(t, []string{childVariable + "=wait"}, punctual(t), "sim", "--", self(t))
		p.awaits(t, ready)
		p.signal(t, syscall.SIGTERM)
		p.ends(t, waitStatus)
		p.awaits(t, regexp.MustCompile(`(?m)^told: terminated$`))
	})
	t.Run("SIGINT to sim alone, without a terminal", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), punctual(t), "sim", "--", self(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, wherever the test runs
		p := start(t, cmd, []string{childVariable + "=wait"})
		p.awaits(t, ready)
		p.signal(t, syscall.SIGINT)
		p.ends(t, waitStatus)
		p.awaits(t, regexp.MustCompile(`(?m)^told: interrupt$`))
	})
}

func TestSimEndsLikeACommandThatWasKilled(t *testing.T) {
	t.Parallel()
	p := run(t, []string{childVariable + "=crash"}, punctual(t), "sim", "--", self(t))
	p.ends(t, 128+int(syscall.SIGKILL))
}
