package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// slowly is a configuration of one target at a simulated cloud that takes its time.
func slowly(t *testing.T) string {
	t.Helper()
	s := startSim(t, "-fault", "delay=700ms")
	conf := filepath.Join(t.TempDir(), "llm.yaml")
	text := "plans: {default: {attempt: 2s, first_content: 1s}}\n" +
		"targets: [{name: azure, provider: azure, endpoint: '" + s.endpoint() + "', deployment: gpt-4o, api_version: '2024-10-21', api_key: k}]\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// onTerminal runs the command on a terminal and returns what was seen there.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	keyboard, tty := terminal(t)
	cmd := exec.CommandContext(t.Context(), punctual(t), args...)
	cmd.Env = append(neutral(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close() // then reading ends with the command
	var seen strings.Builder
	for buffer := make([]byte, 4096); ; {
		n, err := keyboard.Read(buffer)
		seen.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, seen.String())
	}
	return strings.ReplaceAll(seen.String(), "\r\n", "\n")
}

// TestATerminalSeesTheTrailGrow: the row of an attempt grows there while it runs, in colour if nobody is against it; a
// pipe has the same rows, once, and neither codes nor a line that is written over.
func TestATerminalSeesTheTrailGrow(t *testing.T) {
	t.Parallel()
	conf := slowly(t)
	args := []string{"generate", "-v", "-json", "-c", conf, "hello"}
	running := regexp.MustCompile(`\r  azure \|#+ *\| 0\.\d\d s of \d\.\d\d s`)
	ended := regexp.MustCompile(`(?m)  azure \|#+ *\| 0\.\d\d s  answered, \d+ tokens$`)
	coloured := regexp.MustCompile(`\| 0\.\d\d s  \x1b\[32manswered, \d+ tokens\x1b\[0m`)
	seen := onTerminal(t, []string{"TERM=xterm"}, args...)
	if n := len(running.FindAllString(seen, -1)); n < 3 || !coloured.MatchString(seen) {
		t.Errorf("%d times while it ran: %q", n, seen)
	}
	for _, env := range [][]string{{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb"}} {
		seen := onTerminal(t, env, args...)
		if strings.Contains(seen, "\x1b") || !ended.MatchString(seen) || running.MatchString(seen) == (env[0] == "TERM=dumb") {
			t.Errorf("%v: %q", env, seen)
		}
	}
	piped := run(t, []string{"TERM=xterm"}, punctual(t), args...)
	piped.ends(t, 0)
	if text := piped.stderr.String(); strings.ContainsAny(text, "\r\x1b") || len(ended.FindAllString(text, -1)) != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("a pipe: %q", text)
	}
}

// TestATerminalSeesColourInACheck: a warning is marked there, and nowhere else.
func TestATerminalSeesColourInACheck(t *testing.T) {
	t.Parallel()
	conf := slowly(t)
	env := []string{"TERM=xterm", "LLM_TRIAGE_TIMOUT=3"}
	marked := "\x1b[33mwarning:\x1b[0m LLM_TRIAGE_TIMOUT"
	if seen := onTerminal(t, env, "check", "-c", conf); !strings.Contains(seen, marked) {
		t.Errorf("%q", seen)
	}
	if seen := onTerminal(t, env, "check", "-no-color", "-c", conf); strings.Contains(seen, "\x1b") {
		t.Errorf("%q", seen)
	}
	piped := run(t, env, punctual(t), "check", "-c", conf)
	piped.ends(t, 0)
	if seen := piped.stdout.String(); strings.Contains(seen, "\x1b") || !strings.Contains(seen, "warning: LLM_TRIAGE_TIMOUT") {
		t.Errorf("%q", seen)
	}
}
