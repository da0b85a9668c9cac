package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
	"github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// node is the path of Node. The test is skipped if that or the SDK is not there; with PUNCTUAL_JS=1 it fails.
func node(t *testing.T) string {
	t.Helper()
	without := t.Skipf
	if os.Getenv("PUNCTUAL_JS") == "1" {
		without = t.Fatalf
	}
	file, err := exec.LookPath("node")
	if err != nil {
		without("node is not on the PATH")
	}
	version, err := exec.CommandContext(t.Context(), file, "--version").Output()
	if major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), "."); err != nil || number(major) < 20 {
		without("node 20 is needed, this is %s", version)
	}
	var wanted struct{ Dependencies map[string]string }
	readJSON(t, "js/package.json", &wanted)
	words := []string{"node " + strings.TrimSpace(string(version))}
	for name, want := range wanted.Dependencies {
		manifest := "js/node_modules/" + name + "/package.json"
		if _, err := os.Stat(manifest); err != nil {
			without("%s is not installed; next: npm ci --prefix integration/js", name)
		}
		var there struct{ Version string }
		readJSON(t, manifest, &there)
		if there.Version != want {
			t.Fatalf("%s %s is installed, want %s; next: npm ci --prefix integration/js", name, there.Version, want)
		}
		words = append(words, name+" "+want)
	}
	slices.Sort(words[1:])
	t.Log(strings.Join(words, ", "))
	return file
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// scriptLine is a line that js/harness.mjs prints for the test.
var scriptLine = regexp.MustCompile(`(?m)^(plan|ok|not ok|sent): (.*)$`)

// scripts lets one script run at a time: their clients have timeouts, which a busy machine would let pass.
var scripts sync.Mutex

// runScript runs a script of js and reports its cases. It returns what the script has sent, in the form of
// sim.log. Every case that the script has must have run, and so must those in must.
func runScript(t *testing.T, script string, env []string, must ...string) []string {
	t.Helper()
	file := node(t)
	p, status := func() (*process, int) {
		scripts.Lock()
		defer scripts.Unlock()
		p := run(t, env, file, filepath.Join("js", script))
		return p, p.status(t)
	}()
	found := map[string][]string{}
	for _, m := range scriptLine.FindAllStringSubmatch(p.stdout.String(), -1) {
		found[m[1]] = append(found[m[1]], m[2])
	}
	for _, name := range found["plan"] {
		t.Run(name, func(t *testing.T) {
			switch {
			case slices.Contains(found["not ok"], name):
				t.Error("failed: see the output of the script")
			case !slices.Contains(found["ok"], name):
				t.Error("did not run")
			}
		})
	}
	for _, name := range must {
		if !slices.Contains(found["ok"], name) {
			t.Errorf("the case %q is missing", name)
		}
	}
	if status != 0 || t.Failed() {
		t.Fatalf("%s ended with exit status %d\n%s", script, status, p.said())
	}
	t.Logf("%s: %d cases, %d requests", script, len(found["ok"]), len(found["sent"]))
	slices.Sort(found["sent"])
	return found["sent"]
}

func TestOpenAISDKCallsSim(t *testing.T) {
	t.Parallel()
	node(t) // before sim is built
	s := startSim(t)
	sent := runScript(
		t, "sim.mjs", []string{"PUNCTUAL_SIM=" + s.url},
		"AzureOpenAI with a key: one answer",
		"AzureOpenAI with a key: a stream with usage",
		"AzureOpenAI with a key: the SDK puts streamed tool calls together",
		"AzureOpenAI with a key: a second turn with both results",
		"AzureOpenAI with a key: runTools asks, calls and asks again, streamed",
		"AzureOpenAI with a key: output by a schema, parsed by the SDK",
		"AzureOpenAI with a key: an unknown role is refused",
		"AzureOpenAI with a key: throttled, without retries",
		"AzureOpenAI with a key: throttled, the SDK waits as long as it is told and asks again",
		"AzureOpenAI with a token: a stream with usage",
		"OpenAI at its own path: a stream with usage",
		"OpenAI at its own path: tool calls in pieces",
		"AzureOpenAI with a key: output by the schema Trip, made up",
		"AzureOpenAI with a key: output by the schema Node, made up",
		"AzureOpenAI with a key: a tool is called once, made up",
		"OpenAI at its own path: a tool is called once, made up, streamed",
		"OpenAI at its own path: a tool that is chosen is called, made up",
		"the same body with pings in front", "errors at the path of OpenAI have its form",
		"a wrong key", "an unknown deployment", "a prompt that the content filter stops",
		"an error of the server, without retries", "a stream with cut=half",
		"an account that hangs meets the timeout of the client", "a stream that is aborted at its first word",
	)
	s.logged(t, sent)
}

// logged stops sim and asserts that its log has what an SDK has sent, and nothing else.
func (s *sim) logged(t *testing.T, sent []string) {
	t.Helper()
	s.stop(t)
	if got := s.log(t); !slices.Equal(got, sent) {
		t.Errorf("sim logged %d requests, the SDK sent %d, and they differ:\nlogged\n%s\nsent\n%s",
			len(got), len(sent), strings.Join(got, "\n"), strings.Join(sent, "\n"))
	}
}

// bothHandlers are cases of bedrock.mjs, for each of the two handlers that the SDK of AWS has.
func bothHandlers(cases ...string) []string {
	var all []string
	for _, way := range []string{"HTTP/1.1", "HTTP/2"} {
		for _, name := range cases {
			all = append(all, way+": "+name)
		}
	}
	return all
}

func TestAWSSDKCallsSim(t *testing.T) {
	t.Parallel()
	node(t)
	s := startSim(t)
	s.logged(t, runScript(t, "bedrock.mjs", s.environment(), bothHandlers(
		"one answer", "a stream", "a tool is called once, its result answered", "a tool is called in pieces",
		"output by a schema", "an unknown model is refused", "a tool result without a call is refused",
		"throttled, without retries", "throttled, the SDK waits and asks again", "an account with error=auth",
		"an account with code=InvalidSignatureException,status=403", "a stream with status=429,at=stream",
		"a stream with cut=frame", "an account that hangs meets the timeout of the client",
		"a stream that is left at its first word", "a bearer token",
	)...))
}

// TestAWSSDKCallsAnAccountThatChecksSignatures runs the same cases where every signature is verified.
func TestAWSSDKCallsAnAccountThatChecksSignatures(t *testing.T) {
	t.Parallel()
	node(t)
	account := bedrock.StartOptions(&bedrock.Options{AccessKey: "the-key", SecretKey: "the-secret", Region: "us-east-1", Improvise: true})
	t.Cleanup(account.Close)
	sent := runScript(t, "bedrock.mjs", []string{
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME=" + account.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=the-key",
		"AWS_SECRET_ACCESS_KEY=the-secret", "PUNCTUAL_WRONG_SECRET=another-secret",
		"LLM_BEDROCK_MODEL=us.anthropic.claude-sonnet-4-5-20250929-v1:0",
	}, bothHandlers("one answer", "a stream", "a wrong secret", "a wrong key")...)
	account.Close() // what hangs has ended then
	var got []string
	over := map[string]int{}
	for _, r := range account.Requests() {
		got = append(got, fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Status))
		over[r.Proto]++
	}
	slices.Sort(got)
	if !slices.Equal(got, sent) {
		t.Errorf("the account saw\n%s\nthe SDK sent\n%s", strings.Join(got, "\n"), strings.Join(sent, "\n"))
	}
	if over["HTTP/1.1"] == 0 || over["HTTP/2.0"] == 0 {
		t.Errorf("requests came over %v, want both versions of HTTP", over)
	}
}

func TestGoogleSDKCallsSim(t *testing.T) {
	t.Parallel()
	node(t)
	s := startSim(t)
	var must []string
	for _, way := range []string{"Vertex AI by a project", "Vertex AI by a key", "the Gemini API"} {
		for _, name := range []string{
			"one answer", "a stream", "a chat of two turns, the second streamed",
			"gemini-3-pro-preview calls a tool once, its result is answered", "a tool is called in a stream",
			"the SDK calls the tool and asks again, streamed", "output by a schema", "an unknown role is refused",
			"throttled, without retries", "throttled, the SDK waits and asks again", "an account with error=auth",
			"an error inside a stream", "what the filter stops", "a stream with cut=frame",
			"an account that hangs meets the timeout of the client", "a stream that is left at its first word",
		} {
			must = append(must, way+": "+name)
		}
	}
	s.logged(t, runScript(t, "google.mjs", s.environment(), must...))
}

func TestOpenAISDKCallsAnAccountThatChecksCredentials(t *testing.T) {
	t.Parallel()
	node(t)
	account := azure.StartOptions(&azure.Options{
		Key: "the-key", Token: "the-token", Deployments: map[string]string{"gpt-4o": "gpt-4o"}, Next: callTools,
	})
	t.Cleanup(account.Close)
	sent := runScript(
		t, "account.mjs", []string{"PUNCTUAL_ACCOUNT=" + account.URL},
		"AzureOpenAI with a key: a wrong credential",
		"AzureOpenAI with a token: a wrong credential",
		"AzureOpenAI with a key: a deployment that does not exist",
		"AzureOpenAI with a key: tool calls in pieces",
		"AzureOpenAI with a key: runTools asks, calls and asks again",
		"OpenAI at its own path: tool calls in pieces",
	)
	var got []string
	for _, r := range account.Requests() {
		got = append(got, fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Status))
	}
	slices.Sort(got)
	if !slices.Equal(got, sent) {
		t.Errorf("the account saw\n%s\nthe SDK sent\n%s", strings.Join(got, "\n"), strings.Join(sent, "\n"))
	}
}

// callTools is a model that calls both tools when they are offered, sums up their results, and fills in a
// schema.
func callTools(r azure.Request) azure.Turn {
	var asked struct {
		Messages []struct{ Role string }
		Tools    []any
		Format   *struct{} `json:"response_format"`
	}
	if json.Unmarshal(r.Body, &asked) != nil || len(asked.Messages) == 0 {
		return azure.Turn{}
	}
	switch last := asked.Messages[len(asked.Messages)-1]; {
	case last.Role == "tool":
		return azure.Turn{Step: llmtest.Text("18 degrees in Zürich; 2.8 million in Rome.")}
	case len(asked.Tools) > 0:
		return azure.Turn{Step: llmtest.Calls(
			llm.ToolCall{ID: "call_1", Name: "weather", Arguments: `{"city":"Zürich"}`},
			llm.ToolCall{ID: "call_2", Name: "population", Arguments: `{"city":"Rome"}`},
		)}
	case asked.Format != nil:
		return azure.Turn{Step: llmtest.Text(`{"city": "Rome", "degrees": 24}`)}
	default:
		return azure.Turn{Step: llmtest.Text("Hello.")}
	}
}

// example is a script of docs/simulated-clouds.md, and what it prints.
type example struct{ script, output string }

func examples() []example {
	return []example{
		{"example.mjs", "Hello from a simulated Azure OpenAI account.\nRateLimitError\n"},
		{"exampleclouds.mjs", "Hello from a simulated Bedrock account.\nHello from a simulated Vertex AI account.\n"},
	}
}

// TestSDKsFindSimByItsVariables: the examples name no address, and variables of a real account are not read.
func TestSDKsFindSimByItsVariables(t *testing.T) {
	t.Parallel()
	js := node(t)
	for _, example := range examples() {
		t.Run(example.script, func(t *testing.T) {
			t.Parallel()
			p := run(t, realAccounts(), punctual(t), "sim", "-quiet", "--", js, filepath.Join("js", example.script))
			p.ends(t, 0)
			if got := p.stdout.String(); got != example.output {
				t.Errorf("it printed %q, want %q\n%s", got, example.output, p.said())
			}
		})
	}
}

// realAccounts are variables of accounts that sim keeps from its command.
func realAccounts() []string {
	return []string{
		"AZURE_OPENAI_ENDPOINT=https://a-real-account.example", "OPENAI_API_KEY=a-real-key",
		"AWS_PROFILE=a-real-profile", "AWS_DEFAULT_PROFILE=a-real-profile", "AWS_SESSION_TOKEN=a-real-token",
		"AWS_BEARER_TOKEN_BEDROCK=a-real-token", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true", "AWS_REGION=a-real-region",
		"GOOGLE_APPLICATION_CREDENTIALS=/a-real-file", "GEMINI_API_KEY=a-real-key", "GOOGLE_API_KEY=a-real-key",
		"GOOGLE_CLOUD_PROJECT=a-real-project",
	}
}

// TestLockFileNamesNoOtherRegistry: a registry of one machine in the lock file breaks npm ci on all others.
func TestLockFileNamesNoOtherRegistry(t *testing.T) {
	t.Parallel()
	var wanted struct{ Dependencies map[string]string }
	readJSON(t, "js/package.json", &wanted)
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	readJSON(t, "js/package-lock.json", &lock)
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for name, version := range wanted.Dependencies {
		if got := lock.Packages["node_modules/"+name].Version; !exact.MatchString(version) || got != version {
			t.Errorf("package.json wants %s %s, the lock file %s: want one exact version", name, version, got)
		}
	}
	for name, p := range lock.Packages {
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no integrity", name)
		}
		if p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
			t.Errorf("%s comes from %s", name, p.Resolved)
		}
	}
}
