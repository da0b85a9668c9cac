package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	simbedrock "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// fourTargets is a configuration of all three clouds.
const fourTargets = `plans:
  default:       {attempt: 60s}
  triage:        {attempt: 30s, targets: [azure-mini, vertex-flash]}
  orchestration: {attempt: 90s}
  generation:    {attempt: 45s, first_content: 15s, idle: 20s}
retry:   {max_retries: 3, base: 1s, max: 10s, jitter: ""}
breaker: {threshold: 3, open_for: 300s}
targets:
  - {name: azure,        provider: azure,   endpoint: "https://x.openai.azure.com", deployment: gpt-4o, api_version: "2024-10-21", api_key: "${AZURE_OPENAI_API_KEY}"}
  - {name: azure-mini,   provider: azure,   endpoint: "https://x.openai.azure.com", deployment: gpt-4o-mini, api_version: "2024-10-21", api_key: "${AZURE_OPENAI_API_KEY}"}
  - {name: bedrock,      provider: bedrock, region: us-east-1, model: anthropic.claude-sonnet-4-5}
  - {name: vertex-flash, provider: vertex,  project: my-project, location: global, model: gemini-2.5-flash}
`

// here makes a folder with llm.yaml the working one, so that output names no path of this machine.
func here(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("llm.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir()) // whose files of credentials nobody wants to find
	t.Setenv("USERPROFILE", os.Getenv("HOME"))
}

// TestCheckOutput holds what check prints, at 80 columns.
func TestCheckOutput(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
	}{
		{"check.txt", map[string]string{"LLM_GENERATION_TIMEOUT": "40", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": secret}, nil},
		{"check-verbose.txt", map[string]string{"LLM_GENERATION_TIMEOUT": "40", "LLM_MAX_RETRIES": "0"}, []string{"-v"}},
		{"check-deadline.txt", map[string]string{"LLM_EXECUTION_TIME_LIMIT_SECONDS": "120", "LLM_TRIAGE_TIMOUT": "3"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			here(t, fourTargets)
			t.Setenv(envAzureKey, secret)
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			status, stdout, stderr := command(t.Context(), tt.env, "", append([]string{"check"}, tt.args...)...)
			if status != 0 || stderr != "" {
				t.Fatalf("%d %s", status, stderr)
			}
			golden(t, tt.name, stdout)
			checkColumns(t, stdout)
			checkClean(t, stdout)
		})
	}
}

func checkColumns(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns, or blanks at the end: %q", n, line)
		}
	}
}

// TestConfigurationErrors: each is shown with its line and what to write, all of them at once, and nothing is sent.
func TestConfigurationErrors(t *testing.T) {
	for name, text := range map[string]string{
		"error-key.txt":  strings.Replace(fourTargets, "first_content: 15s", "first_contnt: 15s", 1),
		"error-many.txt": strings.NewReplacer("attempt: 90s", "attempt: 90", "[azure-mini, vertex-flash]", "[azure-mini, vertex-flsh]").Replace(fourTargets),
	} {
		t.Run(name, func(t *testing.T) {
			here(t, text)
			t.Setenv(envAzureKey, secret)
			for _, args := range [][]string{{"check"}, {"generate", prompt}} {
				status, stdout, stderr := command(t.Context(), nil, "", args...)
				if status != exitConfig || stdout != "" {
					t.Errorf("%d %q", status, stdout)
				}
				golden(t, name, stderr)
				checkColumns(t, stderr)
				checkClean(t, stderr)
			}
		})
	}
	t.Run("a file that is not there", func(t *testing.T) {
		status, _, stderr := command(t.Context(), nil, "", "check", "-c", "none.yaml")
		if status != exitConfig || !strings.Contains(stderr, "none.yaml") || !strings.Contains(stderr, "no such file") {
			t.Errorf("%d %s", status, stderr)
		}
	})
}

// TestCheckWarnsOfWhatCannotWork: each warning says what to change, and is not there once it was changed.
func TestCheckWarnsOfWhatCannotWork(t *testing.T) {
	t.Parallel()
	target := func(name, model, more string) string {
		return fmt.Sprintf("  - {name: %s, provider: openai, model: %s%s}\n", name, model, more)
	}
	many := "targets:\n"
	for i := range 12 {
		many += target(fmt.Sprintf("t%d", i), "m", "")
	}
	tests := []struct{ name, text, want, mended string }{
		{
			"a total below one attempt", "plans: {triage: {attempt: 30s, total: 20s}}\ntargets:\n" + target("a", "m", ""),
			"plans.triage.total: 20s is less than one attempt may take (30s)",
			"plans: {triage: {attempt: 20s, total: 20s}}\ntargets:\n" + target("a", "m", ""),
		},
		{
			"no time for the last", "plans: {triage: {attempt: 30s, total: 12s}}\n" + many, "no time is left for t10 t11",
			"plans: {triage: {attempt: 30s, total: 12s, targets: [t1, t2, t3]}}\n" + many,
		},
		{
			"one quota for two in a row", "targets:\n" + target("a", "m", ", quota_group: q") + target("b", "m", ", quota_group: q"),
			"a and b share the quota q", "targets:\n" + target("a", "m", ", quota_group: q") + target("b", "m", ", quota_group: r"),
		},
		{
			"a model that thinks", "plans: {generation: {first_content: 2s}}\ntargets:\n" + target("a", "o3-mini", ""),
			"plan generation: a often thinks longer than the 2s to first content",
			"plans: {generation: {first_content: 20s}}\ntargets:\n" + target("a", "o3-mini", ""),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flat := func(text string) string {
				status, stdout, stderr := command(t.Context(), nil, "", "check", "-c", file(t, text))
				if status != 0 {
					t.Fatalf("%d %s", status, stderr)
				}
				return strings.Join(strings.Fields(stdout), " ")
			}
			if got := flat(tt.text); !strings.Contains(got, tt.want) || !strings.Contains(got, "next: ") {
				t.Errorf("lacks %q: %s", tt.want, got)
			}
			if got := flat(tt.mended); strings.Contains(got, "warning: plan") && strings.Contains(got, tt.want) {
				t.Errorf("still warns: %s", got)
			}
		})
	}
}

// TestWhereCredentialsAreFound: without asking anybody.
func TestWhereCredentialsAreFound(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", os.Getenv("HOME"))
	found := filepath.Join(t.TempDir(), "found")
	if err := os.WriteFile(found, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		target string
		env    map[string]string
		want   string
	}{
		{"provider: azure, endpoint: 'https://h', deployment: d, api_key: k", nil, "api_key set"},
		{"provider: azure, endpoint: 'https://h', deployment: d, auth: entra", nil, "Entra ID set (asked at the first call)"},
		{"provider: openai, model: m", nil, "no key set"},
		{"provider: bedrock, model: m, region: r", nil, "AWS credentials missing"},
		{"provider: bedrock, model: m, region: r, bearer_token: t", nil, "bearer_token set"},
		{"provider: bedrock, model: m, region: r, profile: p", nil, "AWS credentials set (profile)"},
		{"provider: bedrock, model: m, region: r", map[string]string{"AWS_BEARER_TOKEN_BEDROCK": secret}, "set (AWS_BEARER_TOKEN_BEDROCK)"},
		{"provider: bedrock, model: m, region: r", map[string]string{"AWS_ACCESS_KEY_ID": secret, "AWS_SECRET_ACCESS_KEY": secret}, "set (env)"},
		{"provider: bedrock, model: m, region: r", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": found}, "set (file)"},
		{"provider: vertex, model: m, project: p", nil, "Google credentials missing"},
		{"provider: vertex, model: m, project: p, api_key: k", nil, "api_key set"},
		{"provider: vertex, model: m, project: p", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": found}, "set (GOOGLE_APPLICATION_CREDENTIALS)"},
		{"provider: vertex, model: m, project: p", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": found + "x"}, "Google credentials missing"},
		{"provider: vertex, model: m, project: p", map[string]string{"CLOUDSDK_CONFIG": filepath.Dir(found)}, "Google credentials missing"},
	}
	for _, tt := range tests {
		status, stdout, stderr := command(t.Context(), tt.env, "", "check", "-c", file(t, "targets: [{name: a, "+tt.target+"}]"))
		if status != 0 || !strings.Contains(stdout, tt.want) || strings.Contains(stdout, "warning") != strings.Contains(tt.want, "missing") {
			t.Errorf("%s with %v: %d %s %s", tt.target, tt.env, status, stdout, stderr)
		}
		checkClean(t, stdout)
	}
}

// TestCheckLive asks each target alone, and says of each that fails what to do.
func TestCheckLive(t *testing.T) {
	t.Parallel()
	server := simazure.StartOptions(&simazure.Options{
		Script: []simazure.Turn{{Step: llmtest.Text("ok")}}, Key: secret, Deployments: map[string]string{"gpt-4o": "gpt-4o-2024-11-20"},
	})
	t.Cleanup(server.Close)
	at := func(name, deployment, key string) string {
		return fmt.Sprintf("  - {name: %s, provider: azure, endpoint: %q, deployment: %s, api_version: '2024-10-21', api_key: %s}\n", name, server.URL, deployment, key)
	}
	conf := file(t, "targets:\n"+at("good", "gpt-4o", secret)+at("gone", "gpt-5", secret)+at("locked", "gpt-4o", "wrong"))
	status, stdout, stderr := command(t.Context(), nil, "", "check", "-live", "-c", conf)
	if status != exitMend || stderr != "" {
		t.Errorf("%d %s", status, stderr)
	}
	flat := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{
		"target outcome took model that answered", "good answered", "gpt-4o-2024-11-20", "gone not_found (404)",
		"next: create the deployment gpt-5, or correct ", "llm.yaml:3", "locked auth (401)",
		"next: locked refused its credential: check api_key", "1 of 3 targets answered.",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("lacks %q:\n%s", want, stdout)
		}
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	checkClean(t, stdout)
	status, stdout, _ = command(t.Context(), nil, "", "check", "-live", "-json", "-c", conf)
	var kinds []string
	for line := range strings.Lines(stdout) {
		var m struct {
			Plan, Target, Outcome, Warning string
			Error                          *llm.Error
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Outcome != "" {
			kinds = append(kinds, m.Target+" "+m.Outcome)
		}
	}
	if status != exitMend || !slices.Equal(kinds, []string{"good answered", "gone not_found (404)", "locked auth (401)"}) {
		t.Errorf("%d %q", status, kinds)
	}
	only := file(t, "targets:\n"+at("good", "gpt-4o", secret))
	if status, stdout, _ := command(t.Context(), nil, "", "check", "-live", "-c", only); status != 0 || !strings.Contains(stdout, "1 of 1 target answered.") {
		t.Errorf("%d %s", status, stdout)
	}
}

// TestNextLive: no setting is blamed for the limits that -live has of itself.
func TestNextLive(t *testing.T) {
	t.Parallel()
	conf, err := config.Parse([]byte("targets: [{name: slow, provider: azure, endpoint: 'https://h', deployment: d, api_key: k}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for bound, want := range map[llm.Bound]string{
		llm.BoundAttempt: "slow was silent for the 30s that -live waits", llm.BoundTotal: "slow was silent for the 30s that -live waits",
		"": "the provider gave up by itself",
	} {
		got := (&report{conf: conf}).nextLive(&llm.Error{Kind: llm.ErrTimeout, Bound: bound, Target: "slow"})
		if !strings.HasPrefix(strings.Join(got, " "), want) {
			t.Errorf("%q: %q", bound, got)
		}
	}
}

// TestCheckLiveOutput holds what check -live prints of three clouds, at 80 columns.
func TestCheckLiveOutput(t *testing.T) {
	azure := simazure.StartOptions(&simazure.Options{
		Script: turns(llmtest.Text("ok")), Key: secret, Deployments: map[string]string{"gpt-4o": "gpt-4o-2024-11-20"},
	})
	t.Cleanup(azure.Close)
	bedrock := simbedrock.StartOptions(&simbedrock.Options{Script: turns(llmtest.Text("ok"))})
	t.Cleanup(bedrock.Close)
	here(t, strings.NewReplacer("https://x.openai.azure.com", azure.URL, "anthropic.claude-sonnet-4-5", simulatedClaude).Replace(fourTargets))
	t.Setenv(envAzureKey, secret)
	env := map[string]string{"AWS_ACCESS_KEY_ID": "AKIASIMULATED", "AWS_SECRET_ACCESS_KEY": secret, "GOOGLE_APPLICATION_CREDENTIALS": "none.json"}
	for name, value := range env {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.URL)
	status, stdout, stderr := command(t.Context(), env, "", "check", "-live")
	if status != exitMend || stderr != "" {
		t.Errorf("%d %s", status, stderr)
	}
	golden(t, "check-live.txt", measured.ReplaceAllString(stdout, "N.NN s"))
	checkColumns(t, stdout)
	checkClean(t, stdout)
}

// TestLiveStatus: what somebody has to mend goes before what will pass, wherever it stands.
func TestLiveStatus(t *testing.T) {
	t.Parallel()
	failed := func(k llm.Kind) asked { return asked{err: &llm.Error{Kind: k}} }
	for _, tt := range []struct {
		results []asked
		want    int
	}{
		{[]asked{{}, {}}, exitDone},
		{[]asked{{}, failed(llm.ErrRateLimited), failed(llm.ErrAuth)}, exitMend},
		{[]asked{failed(llm.ErrAuth), failed(llm.ErrRateLimited), {}}, exitMend},
		{[]asked{failed(llm.ErrTimeout), failed(llm.ErrRateLimited)}, exitTime},
	} {
		status := exitDone
		if e, ok := errors.AsType[*statusError](liveStatus(tt.results)); ok {
			status = e.status
		}
		if status != tt.want {
			t.Errorf("%v: %d, want %d", tt.results, status, tt.want)
		}
	}
}

// TestInit: the starter file is accepted by check, for every choice of providers.
func TestInit(t *testing.T) {
	vars := []string{envAzureEndpoint, envBedrockModel, envVertexModel}
	values := map[string]string{
		envAzureEndpoint: "https://x.openai.azure.com", envAzureKey: secret, envAzureDeployment: "gpt-4o",
		envBedrockModel: "amazon.nova-lite-v1:0", "AWS_REGION": "us-east-1",
		envVertexModel: "gemini-2.5-flash", "GOOGLE_CLOUD_PROJECT": "p",
	}
	for name, value := range values {
		t.Setenv(name, value)
	}
	for set := range 1 << len(vars) {
		env := map[string]string{}
		for i, name := range vars {
			if set&(1<<i) != 0 {
				env[name] = values[name]
			}
		}
		status, stdout, stderr := command(t.Context(), env, "", "init")
		if status != 0 || !strings.HasPrefix(stdout, "# yaml-language-server: $schema=https://") || (stderr == "") != (set != 0) {
			t.Fatalf("%v: %d %s", env, status, stderr)
		}
		checkClean(t, stdout)
		if strings.Contains(stdout, values[envAzureEndpoint]) {
			t.Error("a value of the environment is in the file")
		}
		if set == 0 { // the hint says to take the # away
			stdout = strings.ReplaceAll(stdout, "  # - name: azure", "  - name: azure")
			stdout = strings.ReplaceAll(stdout, "  #   ", "    ")
			stdout, _, _ = strings.Cut(stdout, "  # AWS Bedrock")
		}
		status, out, errOut := command(t.Context(), env, "", "check", "-c", file(t, stdout))
		if want := count(max(len(env), 1), "target"); status != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: %d, not %s: %s%s", env, status, want, out, errOut)
		}
	}
	if conf, err := config.Parse([]byte(starterHead+"  - {name: a, provider: b}\n"), nil); err != nil || len(conf.Warnings) > 0 {
		t.Errorf("%v, %+v", err, conf)
	}
}

// TestInitAsksWhatTheEnvironmentDoes: with the starter file a call goes where it goes without one.
func TestInitAsksWhatTheEnvironmentDoes(t *testing.T) {
	t.Parallel()
	type asked struct {
		Region   string `yaml:"region"`
		Model    string `yaml:"model"`
		Project  string `yaml:"project"`
		Location string `yaml:"location"`
		Key      string `yaml:"api_key"`
	}
	for _, env := range []map[string]string{
		{envBedrockModel: "m", "AWS_REGION": "eu-west-1"},
		{envBedrockModel: "m", "AWS_DEFAULT_REGION": "eu-west-2"},
		{envBedrockModel: "m", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"},
		{envVertexModel: "m", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
		{envVertexModel: "m", "GEMINI_API_KEY": secret},
		{envVertexModel: "m", "GOOGLE_API_KEY": secret, "GEMINI_API_KEY": "other"},
	} {
		var variables []string
		for name, value := range env {
			variables = append(variables, name+"="+value)
		}
		_, starter, _ := command(t.Context(), env, "", "init")
		checkClean(t, starter)
		var got [2]asked
		for i, path := range []string{file(t, starter), ""} {
			conf, err := config.LoadWith(path, &config.Options{Env: variables})
			if err != nil {
				t.Fatalf("%v: %v", variables, err)
			}
			if err := conf.Targets[0].Settings(&got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if got[0] != got[1] {
			t.Errorf("%v: the file asks %+v, the environment %+v", variables, got[0], got[1])
		}
	}
}

// TestSchema: what the command prints is the published one, with the keys of all providers that it was built with.
func TestSchema(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := command(t.Context(), nil, "", "schema")
	if status != 0 || stderr != "" || !json.Valid([]byte(stdout)) {
		t.Fatalf("%d %s", status, stderr)
	}
	if want := read(t, "docs/llm.schema.json"); strings.TrimSpace(stdout) != strings.TrimSpace(want) {
		t.Error("docs/llm.schema.json is not what punctual schema prints")
	}
}
