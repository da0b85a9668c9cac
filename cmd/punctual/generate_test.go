package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// TestGenerateSendsFiles: text goes as text, a picture as a picture, in front of the prompt.
func TestGenerateSendsFiles(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("seen"))})
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := write("notes, old.txt", []byte("the invoice is wrong"))
	picture := write("shot.PNG", []byte("\x89PNG\r\n\x1a\nrest"))
	status, stdout, stderr := generate(t.Context(), conf, "", "-file", notes, "-file", picture, prompt)
	if status != 0 || stdout != "seen\n" {
		t.Fatalf("%d %q %s", status, stdout, stderr)
	}
	body := string(server.Requests()[0].Body)
	for _, want := range []string{`File notes, old.txt:\nthe invoice is wrong`, "data:image/png;base64,iVBORw0KGgpyZXN0", prompt} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	for _, tt := range []struct {
		file string
		want string
	}{
		{write("blob.bin", []byte{0xff, 0xfe, 0x00, 0x01}), "what it holds is not known"},
		{write("empty.txt", nil), "the file is empty"},
		{filepath.Join(dir, "none.txt"), "no such file"},
		{dir, "directory"},
	} {
		status, _, stderr := generate(t.Context(), conf, "", "-file", tt.file, prompt)
		if status != exitUsage && status != exitConfig || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: %d %s", tt.file, status, stderr)
		}
		checkClean(t, strings.ReplaceAll(stderr, dir, ""))
	}
}

// TestGenerateBySchema: the schema goes to the provider under the name of its file, and the answer is printed as it is.
func TestGenerateBySchema(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Text(`{"urgent": true}`))})
	dir := t.TempDir()
	schema := filepath.Join(dir, "triage answer.json")
	text := `{"type": "object", "properties": {"urgent": {"type": "boolean"}}, "required": ["urgent"], "additionalProperties": false}`
	if err := os.WriteFile(schema, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := generate(t.Context(), conf, "", "-schema", schema, prompt)
	if status != 0 || stdout != `{"urgent": true}`+"\n" {
		t.Fatalf("%d %q %s", status, stdout, stderr)
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `"name":"triage_answer"`) || !strings.Contains(body, `"urgent"`) {
		t.Errorf("%s", body)
	}
	wrong := filepath.Join(dir, "wrong.json")
	for _, text := range []string{"", "[]", "null", "{"} {
		if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := generate(t.Context(), conf, "", "-schema", wrong, prompt); status != exitConfig || !strings.Contains(stderr, "is no JSON schema") {
			t.Errorf("%q: %d %s", text, status, stderr)
		}
	}
}

// TestGenerateShowsTheTrail: with -v an answer tells on stderr how it came about.
func TestGenerateShowsTheTrail(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Script: turns(llmtest.Respond(&llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "fine"}}}, Usage: llm.Usage{Input: 3, Output: 7, Reported: true},
	}))})
	status, stdout, stderr := generate(t.Context(), conf, "", "-v", "-session", "s-1", prompt)
	if status != 0 || stdout != "fine\n" || !strings.Contains(stderr, "azure |") || !strings.Contains(stderr, "answered, 7 tokens") {
		t.Errorf("%d %q %s", status, stdout, stderr)
	}
}

// TestGenerateByTheOperationsOfTheFile: one that the file has is known, and its limit ends a call; the advice says
// where it was set.
func TestGenerateByTheOperationsOfTheFile(t *testing.T) {
	t.Parallel()
	server := simazure.StartOptions(&simazure.Options{Script: turns(llmtest.Hang()), Key: secret})
	t.Cleanup(server.Close)
	conf := file(t, `plans: {summary: {attempt: 200ms, total: 300ms}}
targets:
  - {name: eu, provider: azure, endpoint: "`+server.URL+`", deployment: gpt-4o, api_version: "2024-10-21", api_key: `+secret+`}
`)
	status, _, stderr := generate(t.Context(), conf, "", "-o", "summary", prompt)
	flat := strings.Join(strings.Fields(stderr), " ")
	if status != exitTime || !strings.Contains(flat, "summary: eu (azure/gpt-4o): timeout (") || !strings.Contains(flat, "plans.summary.") {
		t.Errorf("%d %s", status, stderr)
	}
	checkClean(t, stderr)
	status, _, stderr = generate(t.Context(), conf, "", "-o", "summry", prompt)
	if status != exitUsage || !strings.Contains(stderr, `did you mean "summary"?`) || !strings.Contains(stderr, "default, triage, orchestration, generation, summary") {
		t.Errorf("%d %s", status, stderr)
	}
}

// TestOnATerminal: text streams as it arrives without -stream; -json and -schema print the whole.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("piece by piece"))})
	for _, tt := range []struct {
		args   []string
		stream bool
	}{{nil, true}, {[]string{"-json"}, false}} {
		var out, errOut bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, terminal: true, errTerminal: true, getenv: func(string) string { return "" }}
		before := len(server.Requests())
		if status := a.run(t.Context(), append(append([]string{"generate", "-c", conf}, tt.args...), prompt)); status != 0 || !strings.Contains(out.String(), "piece by piece") {
			t.Errorf("%q: %d %q %q", tt.args, status, out.String(), errOut.String())
		}
		var body struct{ Stream bool }
		if err := json.Unmarshal(server.Requests()[before].Body, &body); err != nil || body.Stream != tt.stream {
			t.Errorf("%q: %v, %+v", tt.args, err, body)
		}
	}
}

// TestGenerateWarns: a mistyped variable changes nothing, so it is told of beside the answer.
func TestGenerateWarns(t *testing.T) {
	_, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("fine"))})
	t.Setenv("LLM_TRIAGE_TIMOUT", "3")
	status, stdout, stderr := generate(t.Context(), conf, "", prompt)
	if status != 0 || stdout != "fine\n" || !strings.HasPrefix(stderr, "warning: LLM_TRIAGE_TIMOUT: no such variable") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%d %q %s", status, stdout, stderr)
	}
}
