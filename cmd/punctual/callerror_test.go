package main

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
)

// noRetry are flags of a call that has no time for the first wait, which is 0.75 s at the least: it ends with
// the first failure.
var noRetry = []string{"-deadline", "700ms"}

// TestCallErrors: what the account answers decides the message, the next step and the exit status.
func TestCallErrors(t *testing.T) {
	t.Parallel()
	failing := func(k llm.Kind, retry time.Duration) []simazure.Turn {
		return turns(llmtest.Fail(&llm.Error{Kind: k, RetryAfter: retry}))
	}
	tests := []struct {
		name    string
		options simazure.Options
		args    []string
		status  int
		want    []string
	}{
		{
			"a wrong key",
			simazure.Options{Key: "another"},
			nil, 4,
			[]string{"azure (azure/gpt-4o): auth (401)", "next: azure refused its credential: check api_key"},
		},
		{
			"an unknown deployment",
			simazure.Options{Deployments: map[string]string{"other": "gpt-4o"}},
			nil, 4,
			[]string{"not_found (404)", "next: azure has no such model, deployment or path: check deployment, endpoint"},
		},
		{
			"a rate limit",
			simazure.Options{Script: failing(llm.ErrRateLimited, 75*time.Second)},
			nil, 6,
			[]string{"rate_limited (429, retry after 75s)", "azure asks for 7"},
		},
		{
			"an overload",
			simazure.Options{Script: failing(llm.ErrUnavailable, 0)},
			noRetry, 6,
			[]string{"unavailable (503)", "next: the same call may succeed later", "no time to wait and try again"},
		},
		{
			"a filtered prompt",
			simazure.Options{Script: failing(llm.ErrContentFiltered, 0)},
			nil, 1,
			[]string{"content_filtered (400)", "filter stopped it"},
		},
		{
			"a prompt that is too long",
			simazure.Options{Script: failing(llm.ErrContextTooLong, 0)},
			nil, 1,
			[]string{"context_too_long (400)", "shorten the messages"},
		},
		{
			"a hang under a deadline",
			simazure.Options{Script: turns(llmtest.Hang())},
			[]string{"-o", "triage", "-deadline", "150ms"},
			5,
			[]string{"triage: azure (azure/gpt-4o): deadline_exceeded (caller 1", "|#", "x|", "a longer -deadline"},
		},
		{
			"a stream that breaks off",
			simazure.Options{Script: turns(llmtest.Cut("half an answer"))},
			[]string{"-stream"},
			6,
			[]string{"interrupted", "next: "},
		},
		{
			"an empty answer",
			simazure.Options{Script: turns(llmtest.Respond(&llm.Response{}))},
			noRetry, 1,
			[]string{"bad_output", "next: "},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, conf := account(t, &tt.options)
			status, stdout, stderr := generate(t.Context(), conf, "", append(tt.args, prompt)...)
			if status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			for _, w := range tt.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("stderr lacks %q:\n%s", w, stderr)
				}
			}
			if tt.name == "a stream that breaks off" {
				if stdout != "half an answer\n" {
					t.Errorf("printed %q", stdout)
				}
			} else if stdout != "" {
				t.Errorf("printed %q", stdout)
			}
			checkClean(t, stderr)
		})
	}
}

func TestNoServerAtTheEndpoint(t *testing.T) {
	t.Parallel()
	server, conf := account(t, &simazure.Options{})
	server.Close()
	status, _, stderr := generate(t.Context(), conf, "", append(noRetry, prompt)...)
	if status != exitLater || !strings.Contains(stderr, "connection (connection refused)") {
		t.Errorf("%d: %s", status, stderr)
	}
	checkClean(t, stderr)
}

// A host that does not exist is somebody's to mend: a script must not try again.
func TestNoSuchHost(t *testing.T) {
	t.Parallel()
	e := &llm.Error{Kind: llm.ErrConnection, Target: "azure", Err: &net.DNSError{Name: "nowhere.invalid", IsNotFound: true}}
	if got := exitStatusOf(e); got != exitMend {
		t.Errorf("exit status %d", got)
	}
	text := callErrorText(e, nil, false, false)
	for _, want := range []string{"connection (no such host nowhere.invalid)", "next: there is no such host: check "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", text, want)
		}
	}
}

// TestWhyThereIsNoConnection: every word for it has a next step, and what will not come right by itself is somebody's
// to mend.
func TestWhyThereIsNoConnection(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next   string
		status int
	}{
		httpx.CodeHostNotFound:      {"no such host: check endpoint", exitMend},
		httpx.CodeLookupFailed:      {"no name server answered", exitLater},
		httpx.CodeNotTrusted:        {"SSL_CERT_FILE", exitMend},
		httpx.CodeWrongHost:         {"another host's: check endpoint", exitMend},
		httpx.CodeExpired:           {"not valid now", exitMend},
		httpx.CodeNotTLS:            {"does not speak TLS there: check scheme and port in endpoint", exitMend},
		httpx.CodeTLSRefused:        {"client's certificate", exitMend},
		httpx.CodeProxyRefused:      {"the proxy refuses", exitMend},
		httpx.CodeConnectionRefused: {"nobody listens there", exitLater},
		httpx.CodeConnectionReset:   {"may succeed later", exitLater},
		httpx.CodeUnreachable:       {"no way to that host", exitLater},
		httpx.CodeConnectTimeout:    {"no way to that host", exitLater},
		httpx.CodeClosed:            {"may succeed later", exitLater},
		"":                          {"may succeed later", exitLater},
	}
	conf, err := config.Load(azureFile(t, "https://h"))
	if err != nil {
		t.Fatal(err)
	}
	for code, tt := range tests {
		e := &llm.Error{Kind: llm.ErrConnection, Target: "azure", Code: code}
		if lines := next(e, conf); len(lines) != 1 || !strings.Contains(lines[0], tt.next) {
			t.Errorf("%s: %q lacks %q", code, lines, tt.next)
		}
		if got := exitStatusOf(e); got != tt.status {
			t.Errorf("%s: exit status %d, want %d", code, got, tt.status)
		}
	}
}

// TestNoCredentialIsNotARefusedOne: nothing was sent, so nobody refused it; which variables are missing is said.
func TestNoCredentialIsNotARefusedOne(t *testing.T) {
	t.Parallel()
	conf, err := config.Load(file(t, `targets:
  - {name: a, provider: azure, endpoint: "https://h", deployment: d, auth: entra}
  - {name: b, provider: bedrock, model: m}
  - {name: v, provider: vertex, project: p, model: m}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ target, code, want string }{
		{"b", "no_credentials", "b found no credential: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or"},
		{"b", "no_profile", "b found no such profile: check AWS_PROFILE"},
		{"v", "no_credentials", "v found no credential: set api_key or GOOGLE_APPLICATION_CREDENTIALS"},
		{"v", "no_token", "v found no credential: set "},
	} {
		e := &llm.Error{Kind: llm.ErrAuth, Code: tt.code, Target: tt.target, NotSent: true}
		if lines := next(e, conf); len(lines) != 1 || !strings.HasPrefix(lines[0], tt.want) {
			t.Errorf("%s: %q", tt.code, lines)
		}
		if tt.code == "no_profile" { // a trail has no codes
			continue
		}
		e = &llm.Error{Kind: llm.ErrUnavailable, Target: "other", Attempts: trailOf(
			llm.Attempt{Target: tt.target, Kind: llm.ErrAuth, NotSent: true}, llm.Attempt{Target: "other", Kind: llm.ErrUnavailable},
		)}
		if lines := next(e, conf); len(lines) != 2 || !strings.HasPrefix(lines[0], tt.want) {
			t.Errorf("%s on the way: %q", tt.code, lines)
		}
	}
	advised := &llm.Error{Kind: llm.ErrAuth, Code: "no_credentials", Target: "a", NotSent: true, Err: &llm.FieldError{Next: "run az login"}}
	if lines := next(advised, conf); len(lines) != 1 || lines[0] != "a got no credential: run az login" {
		t.Errorf("%q", lines)
	}
}

// TestNoCredentialAtAll is the same from the shell.
func TestNoCredentialAtAll(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	conf := file(t, "targets: [{name: b, provider: bedrock, region: us-east-1, model: "+simulatedClaude+"}]\n")
	status, _, stderr := generate(t.Context(), conf, "", prompt)
	if status != exitMend || !strings.Contains(stderr, "next: b got no credential: set AWS_BEARER_TOKEN_BEDROCK, ") || strings.Contains(stderr, "refused") {
		t.Errorf("%d %s", status, stderr)
	}
	checkClean(t, stderr)
}

func TestAFailureIsJSONToo(t *testing.T) {
	t.Parallel()
	_, conf := account(t, &simazure.Options{Key: "another"})
	status, stdout, stderr := generate(t.Context(), conf, "", "-json", prompt)
	var line struct{ Error *llm.Error }
	if err := json.Unmarshal([]byte(stdout), &line); err != nil || line.Error == nil || line.Error.Kind != llm.ErrAuth || line.Error.Status != 401 {
		t.Errorf("%v: %s", err, stdout)
	}
	if status != exitMend || !strings.Contains(stderr, "auth (401)") {
		t.Errorf("%d %s", status, stderr)
	}
	checkClean(t, stdout+stderr)
}

// statuses are the exit statuses of all kinds.
var statuses = map[llm.Kind]int{
	llm.ErrInvalid: 1, llm.ErrUnsupported: 1, llm.ErrAuth: 4, llm.ErrNotFound: 4, llm.ErrContextTooLong: 1,
	llm.ErrContentFiltered: 1, llm.ErrRateLimited: 6, llm.ErrQuotaExceeded: 1, llm.ErrUnavailable: 6,
	llm.ErrConnection: 6, llm.ErrTimeout: 5, llm.ErrDeadlineExceeded: 5, llm.ErrCanceled: 130,
	llm.ErrCircuitOpen: 6, llm.ErrBadOutput: 1, llm.ErrInterrupted: 6, llm.ErrUnknown: 1,
}

// TestEveryKindHasAStatusAndANextStep walks all kinds of package llm.
func TestEveryKindHasAStatusAndANextStep(t *testing.T) {
	t.Parallel()
	for kind, status := range statuses {
		if got := exitStatus(kind); got != status {
			t.Errorf("%s: exit status %d, want %d", string(kind), got, status)
		}
		lines := next(&llm.Error{Kind: kind, Target: "azure", Bound: llm.BoundAttempt}, nil)
		if len(lines) != 1 || lines[0] == "" {
			t.Errorf("%s: next says %q", string(kind), lines)
		}
	}
	if exitStatus("") != 0 || exitStatus("something new") != 1 {
		t.Error("no kind is 0, an unknown one is 1")
	}
}

// TestTwoFailuresAreBothTold: a key that was refused on the way must be mended, whatever came last.
func TestTwoFailuresAreBothTold(t *testing.T) {
	t.Parallel()
	conf, err := config.Parse([]byte(`targets:
  - {name: azure-mini, provider: azure, endpoint: "https://h", deployment: d, api_key: "${AZURE_OPENAI_API_KEY}"}
  - {name: vertex-flash, provider: vertex, project: p, model: gemini-2.5-flash}
`), func(name string) (string, bool) { return secret, name == envAzureKey })
	if err != nil {
		t.Fatal(err)
	}
	e := &llm.Error{
		Kind: llm.ErrRateLimited, Operation: "triage", Target: "vertex-flash", Status: 429, RetryAfter: 75 * time.Second,
		Attempts: trailOf(
			llm.Attempt{Target: "azure-mini", Took: 180 * ms, Kind: llm.ErrAuth, Status: 401},
			llm.Attempt{Target: "vertex-flash", Took: 410 * ms, Kind: llm.ErrRateLimited, Status: 429},
		),
	}
	golden(t, "two-failures.txt", callErrorText(e, conf, false, false))
}

func TestVerboseShowsTheProvidersWords(t *testing.T) {
	t.Parallel()
	e := &llm.Error{Kind: llm.ErrInvalid, Code: "bad_thing", Message: "your prompt was odd"}
	if text := callErrorText(e, nil, true, false); !strings.Contains(text, "bad_thing: your prompt was odd") {
		t.Errorf("-v: %s", text)
	}
	if text := callErrorText(e, nil, false, false); strings.Contains(text, "odd") {
		t.Errorf("without -v: %s", text)
	}
}
