package integration_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// self is the test binary, to be run as a command; see children.
func self(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSimGivesItsCommandTheVariablesAndEndsWithItsStatus(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), punctual(t), "sim", "--", self(t), "-quiet", "two words")
	cmd.Stdin = strings.NewReader("standard input")
	p := start(t, cmd, append(realAccounts(), childVariable+"=report"))
	p.ends(t, reportStatus)
	var got report
	if err := json.Unmarshal([]byte(p.stdout.String()), &got); err != nil {
		t.Fatalf("stdout has more than the words of the command: %v\n%s", err, p.said())
	}
	if want := []string{"-quiet", "two words"}; !slices.Equal(got.Args, want) {
		t.Errorf("the command got the arguments %q, want %q", got.Args, want)
	}
	if got.Stdin != "standard input" {
		t.Errorf("the command read %q", got.Stdin)
	}
	url := got.Env["AZURE_OPENAI_ENDPOINT"]
	for name, want := range map[string]string{
		"AZURE_OPENAI_ENDPOINT": url, "AZURE_OPENAI_API_KEY": "simulated-key", "AZURE_OPENAI_DEPLOYMENT": "gpt-4o",
		"AZURE_OPENAI_API_VERSION": "2024-10-21", "OPENAI_API_VERSION": "2024-10-21",
		"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "simulated-key",
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "simulated-key",
		"AWS_SECRET_ACCESS_KEY": "simulated-key", "AWS_EC2_METADATA_DISABLED": "true",
		"LLM_BEDROCK_MODEL":      "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"GOOGLE_VERTEX_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url, "GOOGLE_CLOUD_PROJECT": "simulated-project",
		"GOOGLE_CLOUD_LOCATION": "global", "GOOGLE_API_KEY": "simulated-key", "LLM_VERTEX_MODEL": "gemini-2.5-flash",
	} {
		if got.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Env[name], want)
		}
	}
	for name, value := range got.Env {
		if strings.Contains(value, "a-real-") || strings.HasPrefix(name, "AWS_IGNORE_") {
			t.Errorf("%s=%s has reached the command", name, value)
		}
	}
	if file := got.Env["GOOGLE_APPLICATION_CREDENTIALS"]; file == "" {
		t.Error("there are no credentials for Google")
	} else if _, err := os.Stat(file); err == nil {
		t.Errorf("%s is still there", file)
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") || got.Status != http.StatusOK {
		t.Errorf("a call to %q ended with %d, want 200 from this machine", url, got.Status)
	}
	if want := "sim: POST /openai/deployments/gpt-4o/chat/completions: request 1 at "; !strings.HasPrefix(p.stderr.String(), want) {
		t.Errorf("the log is %q, want %q", p.stderr.String(), want)
	}
}

func TestSimEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	p := run(t, []string{childVariable + "=report"}, punctual(t), "sim", "-quiet", self(t))
	p.ends(t, reportStatus)
	var got report
	if err := json.Unmarshal([]byte(p.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if _, _, err := post(got.Env["AZURE_OPENAI_ENDPOINT"], "key", ""); err == nil {
		t.Error("the account still answers after its command has ended")
	}
	if p.stderr.String() != "" {
		t.Errorf("-quiet, and yet: %s", p.stderr.String())
	}
}

func TestSimRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "recording.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	tests := []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"a port in use", []string{"-listen", busy.Addr().String()}, 3, "-listen " + busy.Addr().String() + ": "},
		{"a port that is none", []string{"-listen", "127.0.0.1:http:80"}, 3, "-listen 127.0.0.1:http:80: "},
		{"a file that is not there", []string{"-replay", "no-such-file.json"}, 3, "-replay no-such-file.json: "},
		{"a folder", []string{"-replay", t.TempDir()}, 3, "-replay "},
		{"a file that is no JSON", []string{"-replay", file("data: [DONE]")}, 3, "is no recording"},
		{"a recording without a response", []string{"-replay", file(`{"request": {}}`)}, 3, "has no response"},
		{"a recording with two bodies", []string{"-replay", file(`{"response": {"status": 200, "body": "a", "body_base64": "YQ=="}}`)}, 3, "both a body and a body_base64"},
		{"a fault that does not exist", []string{"-fault", "explode"}, 2, `-fault "explode" is unknown; known are delay, `},
		{"a fault without its value", []string{"-fault", "delay"}, 2, `-fault "delay" needs a duration`},
		{"a fault that needs another", []string{"-fault", "retry-after=2"}, 2, `-fault "retry-after=2" goes with an error only; add status=429`},
		{"a fault given twice", []string{"-fault", "status=429,status=503"}, 2, `-fault "status=503" is the second status`},
		{"a gap in a recording without events", []string{"-fault", "gap=1s", "-replay", file(recordingOf42)}, 2, `-fault "gap=1s" needs a stream of events`},
		{"an error inside a recording", []string{"-fault", "status=500,at=stream", "-replay", file(recordingOf42)}, 2, `-fault "at=stream" cannot put an error inside`},
		{"a flag that does not exist", []string{"-replya", "x"}, 2, `did you mean "-replay"?`},
		{"a command that does not exist", []string{"--", "no-such-program-of-punctual"}, 2, `cannot start "no-such-program-of-punctual"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := run(t, nil, punctual(t), append([]string{"sim"}, tt.args...)...)
			p.ends(t, tt.status)
			said := p.stderr.String()
			if !strings.HasPrefix(said, "punctual: ") || !strings.Contains(said, tt.says) {
				t.Errorf("it says %q, want %q in it", said, tt.says)
			}
			if p.stdout.String() != "" {
				t.Errorf("stdout: %q, want nothing", p.stdout.String())
			}
		})
	}
}

// recordingOf42 is a recorded answer, as one body.
const recordingOf42 = `{"response": {"status": 200, "headers": {"content-type": "application/json"}, "body": "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\",\"content\":\"42\"}}]}"}}`

// TestSimBendsARecording: faults that concern the service and not the bytes are done, too, by flag and by header.
func TestSimBendsARecording(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recording.json")
	if err := os.WriteFile(file, []byte(recordingOf42), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		flag, header string
		status       int // 0: none
		says         string
	}{
		{"", "", 200, `"42"`},
		{"status=429,retry-after=2", "", 429, `"code":"429"`},
		{"", "error=auth", 401, `"code":"401"`},
		{"status=503", "delay=1ms", 200, `"42"`},
		{"", "gap=1s", 400, `"code":"bad_fault"`},
		{"", "status=429,at=body", 400, `"code":"bad_fault"`},
		{"error=connection", "", 0, ""},
		{"ping=1ms/2ms", "", 200, `  {"choices"`},
	}
	for _, tt := range tests {
		t.Run(tt.flag+" "+tt.header, func(t *testing.T) {
			t.Parallel()
			args := []string{"-replay", file}
			if tt.flag != "" {
				args = append(args, "-fault", tt.flag)
			}
			s := startSim(t, args...)
			resp, body, err := post(s.endpoint(), "", tt.header)
			switch {
			case err != nil && tt.status != 0:
				t.Error(err)
			case err == nil && (resp.StatusCode != tt.status || !strings.Contains(body, tt.says)):
				t.Errorf("%d %s, want %d with %s", resp.StatusCode, body, tt.status, tt.says)
			}
			s.stop(t)
		})
	}
}

// TestSimCarriesAnAgentLoop: a tool is called with arguments by its schema, and its result is answered.
func TestSimCarriesAnAgentLoop(t *testing.T) {
	t.Parallel()
	s := startSim(t)
	const tools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"unit":{"enum":["celsius"]}},"required":["unit"]}}}]`
	const question = `{"role":"user","content":"How is the weather?"}`
	_, body, err := postBody(s.endpoint(), "key", "", `{"messages":[`+question+`],`+tools+`}`)
	var answer struct {
		Choices []struct {
			Message json.RawMessage
		}
	}
	if err != nil || json.Unmarshal([]byte(body), &answer) != nil || len(answer.Choices) != 1 {
		t.Fatal(err, body)
	}
	var called struct {
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(answer.Choices[0].Message, &called); err != nil || len(called.ToolCalls) != 1 {
		t.Fatalf("no call of a tool: %v %s", err, body)
	}
	call := called.ToolCalls[0]
	if call.Function.Name != "weather" || call.Function.Arguments != `{"unit":"celsius"}` {
		t.Errorf("it calls %+v", call)
	}
	result := `{"role":"tool","tool_call_id":"` + call.ID + `","content":"18 degrees"}`
	_, body, err = postBody(s.endpoint(), "key", "", `{"messages":[`+question+`,`+string(answer.Choices[0].Message)+`,`+result+`],`+tools+`}`)
	if err != nil || !strings.Contains(body, "I have the result of weather") {
		t.Errorf("%v %s", err, body)
	}
	s.stop(t)
}

func TestSimBendsWhatItIsAskedTo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		args       []string
		header     string
		status     int    // 0: no response
		retryAfter string // the header
	}{
		{"nothing", nil, "", 200, ""},
		{"by the header of a request", nil, "status=429,retry-after=2", 429, "2"},
		{"by the flag, every request", []string{"-fault", "status=429,retry-after=3"}, "", 429, "3"},
		{"by the header rather than the flag", []string{"-fault", "status=503"}, "status=429,retry-after=4", 429, "4"},
		{"by a cut of the connection", []string{"-fault", "cut=start"}, "", 0, ""},
		{"by a header that is wrong", nil, "explode", 400, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startSim(t, tt.args...)
			for range 2 {
				resp, _, err := post(s.endpoint(), "the-key-of-a-test", tt.header)
				switch {
				case tt.status == 0 && err == nil:
					t.Errorf("status %d, want no response", resp.StatusCode)
				case tt.status == 0:
				case err != nil:
					t.Error(err)
				case resp.StatusCode != tt.status || resp.Header.Get("Retry-After") != tt.retryAfter:
					t.Errorf("status %d after %q, want %d after %q", resp.StatusCode, resp.Header.Get("Retry-After"), tt.status, tt.retryAfter)
				}
			}
			s.stop(t)
			if got := s.log(t); len(got) != 2 || got[0] != got[1] {
				t.Errorf("the log has %q, want two equal requests", got)
			}
			for _, secret := range []string{"the-key-of-a-test", prompt} {
				if strings.Contains(s.said(), secret) {
					t.Errorf("the log repeats %q", secret)
				}
			}
		})
	}
}

func TestSimListensWhereItIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String() // free in a moment; another process may take it, but hardly in that moment
	_ = l.Close()
	s := startSim(t, "-listen", addr)
	if s.url != "http://"+addr {
		t.Errorf("it listens at %s, want %s", s.url, addr)
	}
	s.stop(t)
}
