package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// TestLines: every line has its own answer, in order, and one that fails does not end the rest.
func TestLines(t *testing.T) {
	server := simazure.StartOptions(&simazure.Options{Key: secret, Script: turns(
		llmtest.Text("first answer"), llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered}), llmtest.Text("third answer"),
	)})
	t.Cleanup(server.Close)
	here(t, "targets: [{name: azure, provider: azure, endpoint: '"+server.URL+"', deployment: gpt-4o, api_version: '2024-10-21', api_key: "+secret+"}]\n")
	input := prompt + "\r\nsecond\n \n\xff\nlast"
	status, stdout, stderr := command(t.Context(), nil, input, "generate", "-lines", "-system", "be short")
	if status != exitFailed {
		t.Errorf("%d", status)
	}
	golden(t, "lines.txt", normalised("stdout:\n"+stdout+"stderr:\n"+stderr))
	checkClean(t, stderr)
	requests := server.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, want := range []string{`"` + prompt + `"`, `"second"`, `"last"`} {
		if body := string(requests[i].Body); !strings.Contains(body, want) || !strings.Contains(body, `"be short"`) || strings.Contains(body, "assistant") {
			t.Errorf("request %d lacks %s: %s", i, want, body)
		}
	}
}

// TestLinesAsJSON: a line has one object, an error too, so that the n-th object is the n-th line's.
func TestLinesAsJSON(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Script: turns(
		llmtest.Text("one"), llmtest.Fail(&llm.Error{Kind: llm.ErrContentFiltered}), llmtest.Text("three"),
	)})
	status, stdout, stderr := generate(t.Context(), conf, "1\n2\n\n4\n", "-lines", "-json")
	var got []string
	for line := range strings.Lines(stdout) {
		var o struct {
			Error *llm.Error `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if o.Error != nil {
			got = append(got, string(o.Error.Kind))
			continue
		}
		var resp llm.Response
		if err := json.Unmarshal([]byte(line), &resp); err != nil {
			t.Fatal(err)
		}
		got = append(got, resp.Text())
	}
	if want := "one content_filtered invalid three"; strings.Join(got, " ") != want || status != exitFailed {
		t.Errorf("%d %q, want %s\n%s", status, got, want, stderr)
	}
	checkClean(t, stdout+stderr)
}

// TestLinesStatus: what somebody has to mend goes before the first failure, and that before later ones.
func TestLinesStatus(t *testing.T) {
	t.Parallel()
	fail := func(k llm.Kind) llmtest.Step { return llmtest.Fail(&llm.Error{Kind: k}) }
	for _, tt := range []struct {
		steps []llmtest.Step
		want  int
	}{
		{[]llmtest.Step{llmtest.Text("a"), llmtest.Text("b")}, exitDone},
		{[]llmtest.Step{fail(llm.ErrContentFiltered), fail(llm.ErrNotFound), llmtest.Text("c")}, exitMend},
		{[]llmtest.Step{llmtest.Text("a"), fail(llm.ErrUnavailable), fail(llm.ErrContentFiltered)}, exitLater},
	} {
		_, conf := account(t, &simazure.Options{Script: turns(tt.steps...)})
		t.Run(fmt.Sprint(tt.want), func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := generate(t.Context(), conf, strings.Repeat("x\n", len(tt.steps)), "-lines", "-deadline", "700ms")
			if status != tt.want {
				t.Errorf("%d, want %d: %s%s", status, tt.want, stdout, stderr)
			}
		})
	}
}

// TestLinesOfNothing: no line is no call, and nothing failed; a prompt beside them is a slip.
func TestLinesOfNothing(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{})
	if status, stdout, stderr := generate(t.Context(), conf, "", "-lines", "-"); status != 0 || stdout+stderr != "" {
		t.Errorf("%d %q %q", status, stdout, stderr)
	}
	if status, _, stderr := generate(t.Context(), conf, "x\n", "-lines", prompt); status != exitUsage || !strings.Contains(stderr, "-lines reads every prompt") {
		t.Errorf("%d %q", status, stderr)
	} else {
		checkClean(t, stderr)
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestReadLine: no line end, however it looks, is a part of a prompt; a line that is too long costs no memory and
// leaves the next one whole.
func TestReadLine(t *testing.T) {
	t.Parallel()
	long := io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless{}, maxPrompt+1), strings.NewReader("\nb"))
	var got []string
	for line := range readLines(t.Context(), long) {
		got = append(got, fmt.Sprintf("%s %t %v", line.text, line.long, line.err))
	}
	if want := "a false <nil>| true <nil>|b false <nil>"; strings.Join(got, "|") != want {
		t.Errorf("%.200q", got)
	}
	got = nil
	for line := range readLines(t.Context(), io.MultiReader(strings.NewReader("a\r\n\nb\n"), failingReader{})) {
		got = append(got, fmt.Sprintf("%s %v", line.text, line.err))
	}
	if want := "a <nil>| <nil>|b <nil>| no more"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fmt.Errorf("no more") }

// session is a `generate -lines` that runs, as a person has it in front of them.
type session struct {
	t              *testing.T
	in             *io.PipeWriter
	stdout, stderr *growing
	done           chan int
}

// growing is output that can be read while it grows.
type growing struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case g.more <- struct{}{}:
	default:
	}
	return g.text.Write(p)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

func startLines(ctx context.Context, t *testing.T, args ...string) *session {
	t.Helper()
	reader, writer := io.Pipe()
	s := &session{t, writer, &growing{more: make(chan struct{}, 1)}, &growing{more: make(chan struct{}, 1)}, make(chan int, 1)}
	a := &app{stdin: reader, stdout: s.stdout, stderr: s.stderr, getenv: func(string) string { return "" }}
	go func() { s.done <- a.run(ctx, append([]string{"generate", "-lines"}, args...)) }()
	t.Cleanup(func() { _ = writer.Close() })
	return s
}

// ask writes a line and waits until it was answered.
func (s *session) ask(want string) {
	s.t.Helper()
	before := len(s.stdout.String())
	if _, err := io.WriteString(s.in, prompt+"\n"); err != nil {
		s.t.Fatal(err)
	}
	s.wait(s.stdout, before, want)
}

// wait waits until output behind the first n bytes has a text.
func (s *session) wait(g *growing, n int, want string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	for !strings.Contains(g.String()[n:], want) {
		select {
		case <-g.more:
		case <-ctx.Done():
			s.t.Fatalf("no %q in %q; stderr %s", want, g.String()[n:], s.stderr)
		}
	}
}

// end ends the input and returns the exit status.
func (s *session) end() int {
	s.t.Helper()
	_ = s.in.Close()
	return s.status()
}

func (s *session) status() int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	select {
	case status := <-s.done:
		return status
	case <-ctx.Done():
		s.t.Fatal("runs on")
		return 0
	}
}

// TestLinesReadAChangedFileAgain: between calls a file that changed takes over, with what is known of the targets that
// stay; one that is wrong is told of once, and changes nothing.
func TestLinesReadAChangedFileAgain(t *testing.T) {
	first := simazure.StartOptions(&simazure.Options{Key: "another"}) // refuses its key: it is left alone for a minute
	t.Cleanup(first.Close)
	second := simazure.StartOptions(&simazure.Options{Key: secret, Script: turns(llmtest.Text("of the second"))})
	t.Cleanup(second.Close)
	third := simazure.StartOptions(&simazure.Options{Key: secret, Script: turns(llmtest.Text("of the third"))})
	t.Cleanup(third.Close)
	target := func(name, url string) string {
		return fmt.Sprintf("  - {name: %s, provider: azure, endpoint: %q, deployment: gpt-4o, api_version: '2024-10-21', api_key: %s}\n", name, url, secret)
	}
	good := "targets:\n" + target("one", first.URL) + target("two", second.URL)
	here(t, good)
	s := startLines(t.Context(), t)
	s.ask("of the second\n")
	rewrite := func(text string) {
		if err := os.WriteFile(defaultFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("plans: {default: {attempt: 20}}\n" + good)
	s.ask("of the second\n")
	s.ask("of the second\n") // the same mistake is not told of again
	rewrite("plans: {default: {attempt: 20s}}\ntargets:\n" + target("one", first.URL) + target("three", third.URL))
	s.ask("of the third\n")
	if err := os.Remove(defaultFile); err != nil {
		t.Fatal(err)
	}
	s.ask("of the third\n")
	rewrite(good)
	s.ask("of the second\n")
	if status := s.end(); status != exitDone {
		t.Errorf("%d", status)
	}
	golden(t, "lines-reload.txt", s.stderr.String())
	checkClean(t, s.stderr.String())
	if n := len(first.Requests()); n != 1 {
		t.Errorf("%d requests to a target that is left alone: its cool-down was lost", n)
	}
}

// TestLinesKeepToTheirFlags: a file that has no longer what -o and -only name does not take over.
func TestLinesKeepToTheirFlags(t *testing.T) {
	server := simazure.StartOptions(&simazure.Options{Key: secret, Script: turns(llmtest.Text("fine"))})
	t.Cleanup(server.Close)
	target := func(name string) string {
		return fmt.Sprintf("targets: [{name: %s, provider: azure, endpoint: %q, deployment: gpt-4o, api_version: '2024-10-21', api_key: %s}]\n", name, server.URL, secret)
	}
	here(t, "plans: {summary: {attempt: 20s}}\n"+target("a"))
	s := startLines(t.Context(), t, "-o", "summary", "-only", "a")
	s.ask("fine\n")
	for _, tt := range []struct{ text, want string }{
		{target("a"), `punctual: llm.yaml: the plans from before stay: -o: there is no operation "summary"`},
		{"plans: {summary: {attempt: 20s}}\n" + target("b"), `punctual: llm.yaml: the plans from before stay: -only: no target is named "a"`},
	} {
		before := len(s.stderr.String())
		if err := os.WriteFile(defaultFile, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.ask("fine\n")
		s.wait(s.stderr, before, tt.want)
	}
	if status := s.end(); status != exitDone {
		t.Errorf("%d %s", status, s.stderr)
	}
}

// TestInterruptEndsLines: while a line is waited for, and while one is answered.
func TestInterruptEndsLines(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("first"), llmtest.Hang())})
	for _, inCall := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		s := startLines(ctx, t, "-c", conf)
		want := "punctual: interrupted\n"
		if inCall {
			want = "punctual: line 1: azure (azure/gpt-4o): canceled"
			if _, err := io.WriteString(s.in, "x\n"); err != nil {
				t.Fatal(err)
			}
			for server.Wait(shortly(t), 2) != nil && len(server.Requests()) < 2 { // it arrives in a moment
				continue
			}
		} else {
			s.ask("first\n")
		}
		interrupt()
		if status := s.status(); status != exitInterrupted || !strings.HasPrefix(s.stderr.String(), want) {
			t.Errorf("%d %s", status, s.stderr)
		}
	}
}
