package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recording is one recorded exchange, as far as these tests read it.
type recording struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Request  struct {
		Body struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		} `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
	Expect struct {
		Text      string            `json:"text"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"expect"`
}

// question is the system text and the prompt, if the request is one that `punctual generate` can ask.
func (r *recording) question() (system, prompt string, ok bool) {
	for _, m := range r.Request.Body.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil || text == "" {
			return "", "", false
		}
		switch {
		case m.Role == "system" && system == "" && prompt == "":
			system = text
		case m.Role == "user" && prompt == "":
			prompt = text
		default:
			return "", "", false
		}
	}
	return system, prompt, prompt != "" && strings.TrimSpace(prompt) == prompt && !strings.HasPrefix(prompt, "-")
}

func readRecording(t *testing.T, file string) *recording {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{}
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// ask replays a recording with sim, asks its question with generate, and returns how that ended and what went
// over the wire, which it compares with the recording.
func ask(t *testing.T, file string, flags ...string) (*process, exchange) {
	t.Helper()
	r := readRecording(t, file)
	system, prompt, ok := r.question()
	if !ok {
		t.Fatalf("%s: generate cannot ask this", file)
	}
	account := startSim(t, "-replay", file)
	wire := startTap(t, account.url)
	args := append([]string{"generate"}, flags...)
	if r.Kind == "stream" {
		args = append(args, "-stream")
	}
	if system != "" {
		args = append(args, "-system", system)
	}
	env := []string{"AZURE_OPENAI_ENDPOINT=http://" + wire.addr}
	for _, name := range []string{"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_DEPLOYMENT", "AZURE_OPENAI_API_VERSION"} {
		env = append(env, name+"="+account.vars[name])
	}
	p := run(t, env, punctual(t), append(args, prompt)...)
	p.status(t)
	all := wire.exchanges(t)
	account.stop(t)
	if len(all) != 1 {
		t.Fatalf("%d requests went over the wire, want exactly one\n%s", len(all), p.said())
	}
	compareRequest(t, r, &all[0])
	compareResponse(t, r, &all[0])
	if got, want := account.log(t), fmt.Sprintf("POST %s %d", all[0].request.URL.Path, r.Response.Status); len(got) != 1 || got[0] != want {
		t.Errorf("sim logged %q, want %q", got, want)
	}
	return p, all[0]
}

// compareRequest asserts that the question of the recording was asked, and nothing else.
func compareRequest(t *testing.T, r *recording, x *exchange) {
	t.Helper()
	var asked struct {
		Stream   bool `json:"stream"`
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(x.requestBody, &asked); err != nil {
		t.Fatal(err)
	}
	if want := r.Kind == "stream"; asked.Stream != want {
		t.Errorf("asked for a stream: %t, want %t", asked.Stream, want)
	}
	var want []struct{ Role, Content string }
	for _, m := range r.Request.Body.Messages {
		var text string
		if err := json.Unmarshal(m.Content, &text); err != nil {
			t.Fatal(err)
		}
		want = append(want, struct{ Role, Content string }{m.Role, text})
	}
	if got, want := fmt.Sprintf("%q", asked.Messages), fmt.Sprintf("%q", want); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

// compareResponse asserts that the bytes of the recording came back.
func compareResponse(t *testing.T, r *recording, x *exchange) {
	t.Helper()
	if x.response.StatusCode != r.Response.Status {
		t.Errorf("status %d, want %d", x.response.StatusCode, r.Response.Status)
	}
	for name, want := range r.Response.Headers {
		if got := x.response.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if !bytes.Equal(x.responseBody, []byte(r.Response.Body)) {
		t.Errorf("%d bytes came back that are not the %d of the recording", len(x.responseBody), len(r.Response.Body))
	}
}

// write writes a recording of one question and returns its file.
func write(t *testing.T, kind string, status int, headers map[string]string, body string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"id": kind, "provider": "azure", "kind": kind,
		"request": map[string]any{"body": map[string]any{"messages": []any{
			map[string]string{"role": "user", "content": `Which "one" is ünusual: 東京 or <Rome> & co?`},
		}}},
		"response": map[string]any{"status": status, "headers": headers, "body": body},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), kind+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	writtenUnary = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o-2024-11-20",` +
		`"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Rome, or 東京.\nBoth."}}],` +
		` "usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}` + "\n"
	writtenStream = "data: {\"choices\":[],\"id\":\"\",\"model\":\"\",\"object\":\"\"}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"id\":\"chatcmpl-2\",\"model\":\"gpt-4o\"}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Rome, \"},\"finish_reason\":null}],\"id\":\"chatcmpl-2\",\"model\":\"gpt-4o\"}\n\n" +
		": a comment\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"or 東京.\"},\"finish_reason\":null}],\"id\":\"chatcmpl-2\",\"model\":\"gpt-4o\"}\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"id\":\"chatcmpl-2\",\"model\":\"gpt-4o\"}\n\n" +
		"data: [DONE]\n\n"
	writtenError = `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`
)

func TestGenerateAnswersThePromptOfARecordingThroughSim(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind  string
		status      int
		contentType string
		body        string
		flags       []string
		exit        int
		stdout      string
	}{
		{"one body", "unary", 200, "application/json", writtenUnary, nil, 0, "Rome, or 東京.\nBoth.\n"},
		{"one body, as JSON", "unary", 200, "application/json", writtenUnary, []string{"-json"}, 0, ""},
		// With less than nine tenths of the 60 s of an attempt the call would be streamed inside.
		{"one body, in time", "unary", 200, "application/json", writtenUnary, []string{"-deadline", "59s"}, 0, "Rome, or 東京.\nBoth.\n"},
		{"a stream", "stream", 200, "text/event-stream; charset=utf-8", writtenStream, nil, 0, "Rome, or 東京.\n"},
		{"an error", "unary", 404, "application/json", writtenError, nil, 4, ""},
		{"an error instead of a stream", "stream", 404, "application/json", writtenError, nil, 4, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, tt.kind, tt.status, map[string]string{"content-type": tt.contentType, "x-request-id": "req-1"}, tt.body)
			p, _ := ask(t, file, tt.flags...)
			p.ends(t, tt.exit)
			got := p.stdout.String()
			if len(tt.flags) > 0 && tt.flags[0] == "-json" {
				if !json.Valid([]byte(got)) || !strings.Contains(got, `Rome, or 東京.\nBoth.`) || strings.Count(got, "\n") != 1 {
					t.Errorf("it printed %q, want one object with the answer on one line", got)
				}
			} else if got != tt.stdout {
				t.Errorf("it printed %q, want %q", got, tt.stdout)
			}
			if tt.exit == 0 && p.stderr.String() != "" {
				t.Errorf("it says %q", p.stderr.String())
			}
		})
	}
}

// TestGenerateAnswersRealRecordings does the same with recordings of real accounts, as the runner in
// providers does with the adapters. They lie outside of the repository.
func TestGenerateAnswersRealRecordings(t *testing.T) {
	t.Parallel()
	dir, given := recordings()
	files, err := filepath.Glob(filepath.Join(dir, "azure", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if given {
			t.Fatalf("PUNCTUAL_RECORDINGS is set, but there is no recording in %s", filepath.Join(dir, "azure"))
		}
		t.Skipf("no recordings in %s, and PUNCTUAL_RECORDINGS is not set", dir)
	}
	asked := 0
	for _, file := range files {
		r := readRecording(t, file)
		if _, _, ok := r.question(); !ok || r.Kind == "error" || len(r.Expect.ToolCalls) > 0 || strings.TrimSpace(r.Expect.Text) == "" {
			continue
		}
		asked++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			p, x := ask(t, file)
			p.ends(t, 0)
			got, want := p.stdout.String(), strings.TrimRight(r.Expect.Text, "\n")+"\n"
			if got != want {
				t.Errorf("it printed %d bytes that are not the %d of the recorded answer", len(got), len(want))
			}
			t.Logf("%s %s: compared 1 request of %d bytes, %d bytes of response, %d bytes of answer",
				r.Provider, r.Kind, len(x.requestBody), len(x.responseBody), len(got))
		})
	}
	t.Logf("%d of %d recordings hold one prompt and one text", asked, len(files))
	if asked == 0 && given {
		t.Error("none of the recordings is one that generate can ask")
	}
}

// recordings is the folder of the recordings, a relative path counted from the root of the module, and
// whether somebody has named it.
func recordings() (dir string, given bool) {
	dir, given = os.LookupEnv("PUNCTUAL_RECORDINGS")
	if dir == "" {
		dir, given = "../shared/recordings", false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", dir) // tests run in the folder of their package
	}
	return dir, given
}
