// Package examples_test runs the programs of this folder as real processes, against a simulated cloud.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// build compiles a program of this folder.
func build(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(program)+".exe") // a name that runs on every system
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// serve starts a program that serves, and returns the address that it prints.
func serve(t *testing.T, program string, environment ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, build(t, program))
	cmd.Env = append(os.Environ(), environment...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the context kills it
		cancel()
		_ = cmd.Wait()
		t.Logf("%s said:\n%s", program, stderr.String())
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s printed no address: %v", program, err)
	}
	return strings.TrimSpace(line)
}

// agent runs the agent over a tool service and a gateway in front of the cloud.
func agent(t *testing.T, cloud *azure.Server, window time.Duration, texts ...string) (status int, said string, took time.Duration) {
	t.Helper()
	gateway := serve(t, "processes/gateway", "UPSTREAM="+cloud.URL)
	tools := serve(t, "processes/toolservice", "GATEWAY="+gateway)
	cmd := exec.CommandContext(t.Context(), build(t, "processes/agent"), texts...)
	cmd.Env = append(os.Environ(), "TOOLS="+tools, fmt.Sprintf("LLM_EXECUTION_TIME_LIMIT_SECONDS=%v", window.Seconds()))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out), time.Since(start)
}

// TestProcesses: each of three processes hands on less than it was given, and the answers come back.
func TestProcesses(t *testing.T) {
	t.Parallel()
	cloud := azure.Start(llmtest.Text("short"))
	defer cloud.Close()
	status, said, _ := agent(t, cloud, 30*time.Second, "a long text", "another one")
	if status != 0 || said != "1: short\n2: short\n" {
		t.Errorf("exit status %d\n%s", status, said)
	}
	requests := cloud.Requests()
	if len(requests) != 2 {
		t.Fatalf("the cloud was asked %d times", len(requests))
	}
	// Of 30 s one is the agent's own. The first text has half of 29 s, the second what is left; the way of each costs
	// 150 ms and two roundings to whole seconds.
	for i, most := range []int{13, 27} {
		left, err := strconv.Atoi(requests[i].Header.Get("X-Gateway-Timeout-Seconds"))
		if err != nil || left > most || left < most-5 {
			t.Errorf("request %d was told %d s (%v), want about %d s", i+1, left, err, most)
		}
	}
}

// TestProcessesWithAProviderThatHangs: all three end inside the agent's window, and the agent says why.
func TestProcessesWithAProviderThatHangs(t *testing.T) {
	t.Parallel()
	cloud := azure.Start(llmtest.Hang())
	defer cloud.Close()
	const window = 5 * time.Second
	status, said, took := agent(t, cloud, window, "a long text")
	if status != 75 || took >= window {
		t.Errorf("exit status %d after %v\n%s", status, took, said)
	}
	if !strings.Contains(said, "the time is up, 1s of it left for this line: ") {
		t.Errorf("the agent said\n%s", said)
	}
	for _, r := range cloud.Requests() {
		if !r.Gone || r.Took >= window {
			t.Errorf("request %d is with the provider for %v, gone: %v", r.N, r.Took, r.Gone)
		}
	}
}

// TestReverseProxy: min(received, own), less the hop; 400 on garbage, 504 when the time is up.
func TestReverseProxy(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("X-Deadline-Ms"))
	}))
	defer upstream.Close()
	proxy := serve(t, "reverseproxy", "UPSTREAM="+upstream.URL, "LIMIT=2s")
	for _, tt := range []struct {
		path, received string
		status         int
		least, most    int // what the upstream was told
		text           string
	}{
		{"/", "", 200, 1000, 1950, ""},
		{"/", "60000", 200, 1000, 1950, ""},
		{"/", "1000", 200, 500, 950, ""},
		{"/", "soon", 400, 0, 0, "INVALID_DEADLINE"},
		{"/", "0", 504, 0, 0, "EXECUTION_DEADLINE_EXCEEDED"},
		{"/hang", "300", 504, 0, 0, "deadline: execution deadline exceeded (300ms of 300ms used)"},
		{"/hang", "", 504, 0, 0, "deadline: execution deadline exceeded (2s of 2s used)"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if tt.received != "" {
			req.Header.Set("X-Deadline-Ms", tt.received)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(body), tt.text) {
			t.Errorf("%s with %q: %d %s (%v), want %d %s", tt.path, tt.received, resp.StatusCode, body, err, tt.status, tt.text)
		}
		if tt.status != http.StatusOK {
			continue
		}
		if told, err := strconv.Atoi(string(body)); err != nil || told < tt.least || told > tt.most {
			t.Errorf("%s with %q: the service was told %s, want %d to %d", tt.path, tt.received, body, tt.least, tt.most)
		}
	}
}
