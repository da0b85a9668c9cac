package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	simbedrock "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	simvertex "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

// TestMain takes out of the environment what configurations and clouds could read, but for what Go itself needs: no
// test may ask a real account, or print what this machine has.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		keep := false
		for _, prefix := range []string{"GO", "CGO", "PATH", "HOME", "TMP", "TEMP", "USERPROFILE", "LOCALAPPDATA", "SYSTEM", "XDG_CACHE", "CC", "HTTP", "NO_PROXY", "SSL"} {
			keep = keep || strings.HasPrefix(strings.ToUpper(name), prefix) && !strings.HasPrefix(name, "GOOGLE")
		}
		if !keep {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// secret and prompt are planted: no output but an answer may hold them.
const (
	secret = "sk-canary-4f1c"
	prompt = "the canary prompt 8d2e"
)

// command runs a command line in process and returns its exit status and output. env is what the command itself looks
// up; the adapters and the configuration look into the environment of the process, which [TestMain] has emptied.
func command(ctx context.Context, env map[string]string, stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	a := &app{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &errOut,
		getenv: func(name string) string { return env[name] },
	}
	status = a.run(ctx, args)
	return status, out.String(), errOut.String()
}

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llm.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// azureFile is a configuration with one target at an endpoint.
func azureFile(t *testing.T, endpoint string) string {
	t.Helper()
	return file(t, fmt.Sprintf(`targets:
  - {name: azure, provider: azure, endpoint: %q, deployment: gpt-4o, api_version: "2024-10-21", api_key: %s}
`, endpoint, secret))
}

// account starts a simulated account and returns the configuration that points at it.
func account(t *testing.T, o *simazure.Options) (*simazure.Server, string) {
	t.Helper()
	if o.Key == "" {
		o.Key = secret
	}
	server := simazure.StartOptions(o)
	t.Cleanup(server.Close)
	return server, azureFile(t, server.URL)
}

// generate runs one call by a configuration.
func generate(ctx context.Context, conf, stdin string, args ...string) (status int, stdout, stderr string) {
	return command(ctx, nil, stdin, append([]string{"generate", "-c", conf}, args...)...)
}

func turns(steps ...llmtest.Step) []simazure.Turn {
	list := make([]simazure.Turn, len(steps))
	for i, s := range steps {
		list[i].Step = s
	}
	return list
}

// TestWrongUse: each wrong use has one clear line, the next step and its exit status.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	good := azureFile(t, "https://example.openai.azure.com")
	tests := []struct {
		name   string
		args   string // split at blanks; ~ is a blank, @ a good configuration
		stdin  string
		status int
		want   []string
	}{
		{"an unknown command", "demmo", "", 2, []string{`there is no command "demmo"; did you mean "demo"?`, "next: punctual help"}},
		{"an unknown flag", "generate -c @ -steam x", "", 2, []string{`has no flag -steam; did you mean "-stream"?`, "next: punctual generate -h"}},
		{"an unknown operation", "generate -c @ -o triag x", "", 2, []string{`-o: there is no operation "triag"; did you mean "triage"?`, "next: use default, triage, orchestration, generation"}},
		{"an operation like no other", "generate -c @ -o zzzzzz x", "", 2, []string{`there is no operation "zzzzzz"` + "\n"}},
		{"an empty prompt", "generate -c @ ~", "", 2, []string{"the prompt is empty", "next: "}},
		{"an empty standard input", "generate -c @", " \n", 2, []string{"the prompt is empty"}},
		{"a prompt that is no text", "generate -c @ -", "a\xff", 2, []string{"no UTF-8"}},
		{"two prompts", "generate -c @ a b", "", 2, []string{"there are 2 prompts"}},
		{"a deadline without a unit", "generate -c @ -deadline 20 x", "", 2, []string{"-deadline: want a time with its unit, such as 20s", "next: punctual generate -h"}},
		{"a number that is none", "generate -c @ -max-tokens lots x", "", 2, []string{"-max-tokens: want a whole number"}},
		{"no tokens", "generate -c @ -max-tokens 0 x", "", 2, []string{"-max-tokens: want a number above 0"}},
		{"a file of the demo", "generate -demo -c @ x", "", 2, []string{"leave out -c, or -demo"}},
		{"a system text that is none", "generate -c @ -system \xff x", "", 2, []string{"no UTF-8", "iconv"}},
		{"a session that is no text", "generate -c @ -session \xff x", "", 2, []string{"no UTF-8"}},
		{"an argument of version", "version x", "", 2, []string{`takes no arguments, but there is "x"`}},
		{"two topics", "help generate check", "", 2, []string{"one thing", "punctual help generate"}},
		{"two shells", "completion bash zsh", "", 2, []string{"one shell", "punctual completion bash"}},
		{"a number that is too large", "generate -c @ -max-tokens 99999999999999999999 x", "", 2, []string{"-max-tokens: want a whole number"}},
		{"a deadline of nothing", "generate -c @ -deadline 0s x", "", 2, []string{"-deadline: want a time above 0"}},
		{"a flag without its value", "generate -c @ -o", "", 2, []string{"flag needs an argument"}},
		{"json and stream", "generate -c @ -json -stream x", "", 2, []string{"leave -stream out"}},
		{"a target that is not there", "generate -c @ -only azur x", "", 2, []string{`-only: no target is named "azur"; did you mean "azure"?`, "next: use azure"}},
		{"an argument to demo", "demo fast", "", 2, []string{`demo takes no arguments`}},
		{"help on nothing", "help generat", "", 2, []string{`did you mean "generate"?`}},
		{"a fault that is none", "sim -fault hnag", "", 2, []string{`"hnag"`, "docs/simulated-clouds.md"}},
		{"a recording that is not there", "sim -replay testdata/none.json", "", 3, []string{"no such file"}},
		{"an address that is none", "sim -listen 127.0.0.1:99999", "", 3, []string{"-listen 127.0.0.1:99999", "next: "}},
		{"a program that is not there", "sim -- no-such-program-here", "", 2, []string{`cannot start "no-such-program-here"`, "next: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tt.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "~", " ")
				if args[i] == "@" {
					args[i] = good
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			status, stdout, stderr := command(ctx, nil, tt.stdin, args...)
			if status != tt.status || stdout != "" {
				t.Errorf("exit status %d, want %d; stdout %q", status, tt.status, stdout)
			}
			if !strings.HasPrefix(stderr, "punctual: ") || strings.Count(stderr, "\n") > 4 {
				t.Errorf("no short message: %q", stderr)
			}
			for _, w := range tt.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("stderr %q lacks %q", stderr, w)
				}
			}
			checkClean(t, stderr)
		})
	}
}

// TestWrongEnvironment: without a file each mistake names its variable, and what to do.
func TestWrongEnvironment(t *testing.T) {
	azure := map[string]string{
		envAzureEndpoint: "https://example.openai.azure.com", envAzureKey: secret, envAzureDeployment: "gpt-4o",
	}
	bedrock := map[string]string{envBedrockModel: "amazon.nova-lite-v1:0", "AWS_REGION": "us-east-1"}
	vertex := map[string]string{envVertexModel: "gemini-2.5-flash", "GOOGLE_CLOUD_PROJECT": "p"}
	tests := []struct {
		name        string
		env         map[string]string
		over, value string // one more variable
		want        []string
	}{
		{"nothing", nil, "", "", []string{"punctual: no provider: there is no llm.yaml here", "AZURE_OPENAI_ENDPOINT", "next: punctual generate -demo"}},
		{"no region", bedrock, "AWS_REGION", "", []string{"LLM_BEDROCK_MODEL", "AWS_REGION is not", "next: export AWS_REGION"}},
		{"no project", vertex, "GOOGLE_CLOUD_PROJECT", "", []string{"LLM_VERTEX_MODEL", "GOOGLE_CLOUD_PROJECT is not"}},
		{"no key", azure, envAzureKey, "", []string{"AZURE_OPENAI_API_KEY is not", "next: export AZURE_OPENAI_API_KEY"}},
		{"no deployment", azure, envAzureDeployment, "", []string{"AZURE_OPENAI_DEPLOYMENT is not"}},
		{"an endpoint that is no address", azure, envAzureEndpoint, "myresource", []string{"AZURE_OPENAI_ENDPOINT", "is no http or https address", "next: "}},
		{"an endpoint with a password", azure, envAzureEndpoint, "https://u:" + secret + "@h", []string{"AZURE_OPENAI_ENDPOINT", "holds a user or password"}},
		{"a key with a line end", azure, envAzureKey, secret + "\n", []string{"AZURE_OPENAI_API_KEY", "has blanks, line ends"}},
		{"a version that is none", azure, envAzureVersion, "latest version", []string{"AZURE_OPENAI_API_VERSION", "is no version"}},
		{"Bedrock at no address", bedrock, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "here", []string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "is no http or https address"}},
		{"AWS at no address", bedrock, "AWS_ENDPOINT_URL", "here", []string{"AWS_ENDPOINT_URL", "is no http or https address"}},
		{"Vertex at no address", vertex, "GOOGLE_VERTEX_BASE_URL", "here", []string{"GOOGLE_VERTEX_BASE_URL", "is no http or https address"}},
		{"a limit with a unit", azure, "LLM_TRIAGE_TIMEOUT", "30s", []string{"LLM_TRIAGE_TIMEOUT", "want seconds, as in 30"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir()) // without a llm.yaml
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			if tt.over != "" {
				t.Setenv(tt.over, tt.value)
			}
			status, stdout, stderr := command(t.Context(), nil, "", "generate", "x")
			if status != exitConfig || stdout != "" || strings.Count(stderr, "\n") > 4 {
				t.Errorf("%d %q\n%s", status, stdout, stderr)
			}
			for _, w := range tt.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("lacks %q:\n%s", w, stderr)
				}
			}
			checkClean(t, stderr)
		})
	}
}

// checkClean fails if a message holds a secret, a prompt, a stack trace or a Go type.
func checkClean(t *testing.T, text string) {
	t.Helper()
	for _, bad := range []string{secret, prompt, "goroutine ", "panic", "*llm.", "llm.E", "*url.", "openai.", "0x", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the message holds %q:\n%s", bad, text)
		}
	}
}

func TestGenerateAnswers(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("Hello there."))})
	tests := []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{prompt}, "", "Hello there.\n"},
		{[]string{"-stream", prompt}, "", "Hello there.\n"},
		{[]string{"--stream", "-o", "generation", "-"}, prompt, "Hello there.\n"},
		{[]string{"-system", "be short", "-max-tokens", "50"}, prompt, "Hello there.\n"},
	}
	for _, tt := range tests {
		status, stdout, stderr := generate(t.Context(), conf, tt.stdin, tt.args...)
		if status != 0 || !strings.HasPrefix(stdout, tt.want) || stderr != "" {
			t.Errorf("%q: %d %q %q", tt.args, status, stdout, stderr)
		}
	}
	status, stdout, stderr := command(t.Context(), nil, "", "generate", "-demo", "-deadline", "20s", prompt)
	if status != 0 || !strings.HasPrefix(stdout, "Thank you for writing.") || stderr != "" {
		t.Errorf("-demo: %d %q %q", status, stdout, stderr)
	}
	requests := server.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests {
		if !bytes.Contains(r.Body, []byte(prompt)) {
			t.Errorf("request %d does not hold the prompt: %s", r.N, r.Body)
		}
	}
	if last := string(requests[3].Body); !strings.Contains(last, `"be short"`) || !strings.Contains(last, `"max_completion_tokens":50`) {
		t.Errorf("the last request: %s", last)
	}
}

// TestGenerateAsksTheProvidersInTurn: all three are found in the environment, and a call crosses vendors.
func TestGenerateAsksTheProvidersInTurn(t *testing.T) {
	t.Chdir(t.TempDir())
	s := simazure.StartOptions(&simazure.Options{Script: turns(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable})), Key: secret})
	t.Cleanup(s.Close)
	b := simbedrock.StartOptions(&simbedrock.Options{Script: turns(llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited}))})
	t.Cleanup(b.Close)
	v := simvertex.StartOptions(&simvertex.Options{Script: turns(llmtest.Text("from the third")), APIKey: secret})
	t.Cleanup(v.Close)
	for name, value := range map[string]string{
		envAzureEndpoint: s.URL, envAzureKey: secret, envAzureDeployment: "gpt-4o", envAzureVersion: "2024-10-21",
		envBedrockModel: simulatedClaude, "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": b.URL,
		"AWS_ACCESS_KEY_ID": "AKIASIMULATED", "AWS_SECRET_ACCESS_KEY": secret,
		envVertexModel: simulatedGemini, "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_VERTEX_BASE_URL": v.URL, "GOOGLE_API_KEY": secret,
	} {
		t.Setenv(name, value)
	}
	status, stdout, stderr := command(t.Context(), nil, "", "generate", "-json", prompt)
	var resp llm.Response
	if err := json.Unmarshal([]byte(stdout), &resp); err != nil || status != 0 || resp.Target != "vertex" || resp.Text() != "from the third" {
		t.Fatalf("%d, %v: %s %s", status, err, stdout, stderr)
	}
	if len(resp.Attempts) != 3 || resp.Attempts[0].Kind != llm.ErrUnavailable || resp.Attempts[1].Kind != llm.ErrRateLimited {
		t.Errorf("%+v", resp.Attempts)
	}
}

// TestOlderNamesOfVariables: the names that the vendors' tools write work, and -only chooses.
func TestOlderNamesOfVariables(t *testing.T) {
	b := simbedrock.StartOptions(&simbedrock.Options{Script: turns(llmtest.Text("from bedrock"))})
	t.Cleanup(b.Close)
	v := simvertex.StartOptions(&simvertex.Options{Script: turns(llmtest.Text("from google")), APIKey: secret})
	t.Cleanup(v.Close)
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", b.URL)
	t.Setenv("GOOGLE_VERTEX_BASE_URL", v.URL)
	t.Setenv("GOOGLE_GEMINI_BASE_URL", v.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIASIMULATED")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv(envBedrockModel, simulatedClaude)
	t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
	t.Setenv(envVertexModel, simulatedGemini)
	for _, key := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"} {
		t.Run(key, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv(key, secret)
			for only, want := range map[string]string{"": "from bedrock\n", "vertex": "from google\n", "vertex, bedrock": "from google\n", "bedrock": "from bedrock\n"} {
				status, stdout, stderr := command(t.Context(), nil, "", "generate", "-only", only, prompt)
				if status != 0 || stdout != want {
					t.Errorf("-only %q: %d %q %s", only, status, stdout, stderr)
				}
			}
		})
	}
}

// TestGenerateAsksAgain: a passing fault costs a wait, and the trail tells of both, on an answer and on an error.
func TestGenerateAsksAgain(t *testing.T) {
	t.Parallel()
	overload := llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable})
	_, conf := account(t, &simazure.Options{Script: turns(overload, llmtest.Text("at last"))})
	status, stdout, stderr := generate(t.Context(), conf, "", "-json", prompt)
	var resp llm.Response
	if err := json.Unmarshal([]byte(stdout), &resp); err != nil || status != 0 || resp.Text() != "at last" || len(resp.Attempts) != 2 {
		t.Fatalf("%d, %v: %s %s", status, err, stdout, stderr)
	}
	first, again := resp.Attempts[0], resp.Attempts[1]
	if wait := again.Wait; first.Kind != llm.ErrUnavailable || wait < 750*ms || again.Start.Sub(first.Start) < wait {
		t.Errorf("asked again after %s: %+v", wait, resp.Attempts)
	}
	_, conf = account(t, &simazure.Options{Script: turns(overload, llmtest.Hang())})
	status, stdout, stderr = generate(t.Context(), conf, "", "-deadline", "1500ms", prompt)
	if status != exitTime || stdout != "" {
		t.Errorf("%d: %q", status, stdout)
	}
	for _, want := range []string{
		"punctual: azure (azure/gpt-4o): deadline_exceeded (caller 1.", "s), 2 tries\n",
		"s  unavailable (503)\n  azure |.", "..#", "x| ", "s  deadline_exceeded (caller)\n",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	checkClean(t, stderr)
}

func TestInterruptEndsAWait(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Script: turns(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}))})
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(300*ms, cancel) // of the 750 at least
	defer timer.Stop()
	start := time.Now()
	status, _, stderr := generate(ctx, conf, "", prompt)
	if status != exitInterrupted || !strings.Contains(stderr, "canceled") || !strings.Contains(stderr, "unavailable (503)") {
		t.Errorf("%d %s", status, stderr)
	}
	if took := time.Since(start); took > 600*ms {
		t.Logf("it took %v to end, on a busy machine", took)
	}
}

func TestGenerateJSON(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Script: turns(llmtest.Text("a < b"))})
	status, stdout, _ := generate(t.Context(), conf, "", "-json", prompt)
	var resp llm.Response
	if err := json.Unmarshal([]byte(stdout), &resp); err != nil || status != 0 {
		t.Fatalf("%d, %v: %s", status, err, stdout)
	}
	if resp.Text() != "a < b" || resp.Target != "azure" || len(resp.Attempts) != 1 || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "a < b") {
		t.Errorf("%s", stdout)
	}
}

// A prompt that never ends must not hold the program.
func TestInterruptEndsTheReadingOfAPrompt(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	defer writer.Close() // the read that was left behind ends with the test
	var out, errOut bytes.Buffer
	a := &app{stdin: reader, stdout: &out, stderr: &errOut, getenv: func(string) string { return "" }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- a.run(ctx, []string{"generate", "-demo", "-"}) }()
	if _, err := writer.Write([]byte("half a prompt")); err != nil { // it is being read
		t.Fatal(err)
	}
	cancel()
	if status := <-done; status != exitInterrupted || errOut.String() != "punctual: interrupted\n" {
		t.Errorf("%d %q", status, errOut.String())
	}
}

func TestInterruptEndsACall(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{Script: turns(llmtest.Hang())})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan string, 1)
	go func() {
		status, _, stderr := generate(ctx, conf, "", prompt)
		done <- fmt.Sprint(status, " ", stderr)
	}()
	for len(server.Requests()) == 0 { // the request arrives in a moment
		if err := server.Wait(shortly(t), 1); err == nil {
			t.Fatal("the request ended by itself")
		}
	}
	start := time.Now()
	cancel()
	got := <-done
	if !strings.HasPrefix(got, "130 punctual: azure (azure/gpt-4o): canceled") || !strings.Contains(got, "|#") {
		t.Errorf("got %s", got)
	}
	if took := time.Since(start); took > 100*time.Millisecond {
		t.Logf("it took %v to end (wanted within 0.1 s on a quiet machine)", took)
	}
}

// shortly is a context that ends after 10 ms.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// brokenPipe is a reader's end that is gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAClosedPipeEndsQuietly(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{})
	for _, args := range [][]string{{"generate", "-c", conf, "x"}, {"generate", "-c", conf, "-stream", "x"}, {"check", "-c", conf}, {"completion", "bash"}, {"help"}, {"version"}, {"demo"}, {"demo", "-json"}, {"sim"}} {
		var errOut bytes.Buffer
		a := &app{stdout: brokenPipe{}, stderr: &errOut, stdin: strings.NewReader(""), getenv: func(string) string { return "" }}
		if status := a.run(t.Context(), args); status != 0 || errOut.Len() > 0 {
			t.Errorf("%q: %d %s", args, status, errOut.String())
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	status, stdout, _ := command(t.Context(), nil, "", "version")
	if status != 0 || !regexp.MustCompile(`^punctual .+\ngo1\.\d+.* \w+/\w+\n`).MatchString(stdout) {
		t.Errorf("%d %q", status, stdout)
	}
}

func TestReplayOfFilesThatAreNoRecordings(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                            "is no recording",
		"not json":                    "is no recording",
		"[]":                          "is no recording",
		"{}":                          "no response with a status",
		`{"response": {"status": 7}}`: "no response with a status",
		`{"response": {"status": 200, "body_base64": "*"}}`:            "no base64",
		`{"response": {"status": 200, "body": "", "body_base64": ""}}`: "both a body and a body_base64",
		`{"response": {"status": "200", "body": "` + prompt + `"}}`:    "is no recording",
	}
	for content, want := range tests {
		file := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := command(t.Context(), nil, "", "sim", "-replay", file)
		if status != exitConfig || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d %s", content, status, stderr)
		}
		checkClean(t, stderr)
	}
	if _, err := readRecording(t.TempDir()); err == nil {
		t.Error("a folder was taken for a recording")
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	ops := []string{"triage", "orchestration", "generation"}
	for word, want := range map[string]string{"triag": "triage", "genration": "generation", "orchestartion": "orchestration", "TRIAGE": "triage", "x": "", "": "", "chat": ""} {
		got := didYouMean(word, ops)
		if want == "" && got != "" || want != "" && !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}
