//go:build unix

// A window ends with SIGTERM, which other systems do not have.

package deadlines_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// window is what the platform gives.
const window = 2500 * time.Millisecond

// run is one run of the agent in a window, as seen from outside.
type run struct {
	code    int            // exit status; -1: it was killed
	signal  syscall.Signal // by this
	took    time.Duration  // from ready to its end
	log     []string       // its lines
	asked   []azure.Request
	started time.Duration // ready, by the server's clock
}

// TestWindow runs the same program with and without its deadline, in a window at whose end it is killed: once with a
// call that hangs, once with a stream that goes on and on.
func TestWindow(t *testing.T) {
	t.Parallel()
	for how, endless := range map[string]llmtest.Step{
		"hang":   llmtest.Hang(),
		"stream": llmtest.Text(strings.Repeat("and on ", 200)).Every(50 * time.Millisecond), // 10 s and more
	} {
		t.Run(how+", without the deadline", func(t *testing.T) {
			t.Parallel()
			r := inWindow(t, how, endless, nil)
			if r.code != -1 || r.signal != syscall.SIGTERM || r.took < window {
				t.Errorf("it ended with status %d, signal %v, after %v; it should have been killed", r.code, r.signal, r.took)
			}
			if len(r.log) != 0 {
				t.Errorf("its log is %q; it should have been lost in the buffer", r.log)
			}
			r.wasAsked(t, window, 2*window)
		})
		t.Run(how+", with the deadline", func(t *testing.T) {
			t.Parallel()
			r := inWindow(t, how, endless, []string{fmt.Sprintf("LLM_EXECUTION_TIME_LIMIT_SECONDS=%v", window.Seconds())})
			if r.code != statusTooLate || r.took >= window {
				t.Errorf("it ended with status %d, signal %v, after %v; it should have ended by itself\n%q", r.code, r.signal, r.took, r.log)
			}
			if len(r.log) != 4 || r.log[2] != "asking the second" {
				t.Fatalf("its log is %q", r.log)
			}
			text, ok := strings.CutPrefix(r.log[3], "the end: ")
			var e deadline.ExceededError
			if err := json.Unmarshal([]byte(text), &e); !ok || err != nil {
				t.Fatalf("its last line is %q (%v)", r.log[3], err)
			}
			if !errors.Is(&e, context.DeadlineExceeded) || e.Total != window-margin || e.Elapsed < e.Total-e.Total/10 {
				t.Errorf("its last line is %q", r.log[3])
			}
			r.wasAsked(t, 0, window)
		})
	}
}

// wasAsked asserts that the server got two requests, answered the first, and that the client left the second within
// these bounds of the window.
func (r *run) wasAsked(t *testing.T, least, most time.Duration) {
	t.Helper()
	if len(r.asked) != 2 || r.asked[0].Status != 200 || r.asked[0].Gone || !r.asked[1].Gone {
		t.Fatalf("the server's log is %+v", r.asked)
	}
	if left := r.asked[1].Time + r.asked[1].Took - r.started; left < least || left >= most {
		t.Errorf("the client left after %v, want %v to %v", left, least, most)
	}
}

// inWindow is the platform: it starts the agent, waits until that is ready, and kills it when the window is over.
func inWindow(t *testing.T, how string, endless llmtest.Step, environment []string) *run {
	t.Helper()
	epoch := time.Now()
	server := azure.StartOptions(&azure.Options{Script: []azure.Turn{{Step: llmtest.Text("yes")}, {Step: endless}}, Epoch: epoch})
	defer server.Close()
	log := filepath.Join(t.TempDir(), "agent.log")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "LLM_EXECUTION_TIME_LIMIT_SECONDS=", childVariable+"="+how, "AGENT_LOG="+log, "AZURE_OPENAI_ENDPOINT="+server.URL)
	cmd.Env = append(cmd.Env, environment...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		_ = cmd.Wait()
		t.Fatalf("it said %q (%v)", line, err)
	}
	start := time.Now()
	kill := time.AfterFunc(window, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer kill.Stop()
	_ = cmd.Wait()
	r := &run{code: cmd.ProcessState.ExitCode(), took: time.Since(start), log: lines(t, log), started: start.Sub(epoch)}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.signal = status.Signal()
	}
	if err := server.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	r.asked = server.Requests()
	return r
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
