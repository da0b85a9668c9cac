package config_test

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// canary is the secret of all wrong files. No message may hold any part of it that is long enough to be one.
const canary = "canary-7f3a9c1e5b2d"

// azureKeys and bedrockKeys are settings in the form that adapters have them.
type azureKeys struct {
	Endpoint   string         `yaml:"endpoint"`
	Deployment string         `yaml:"deployment"`
	Version    string         `yaml:"api_version"`
	Key        string         `yaml:"api_key"`
	Auth       string         `yaml:"auth"`
	Parameters map[string]any `yaml:"parameters"`
}

type bedrockKeys struct {
	Region    string `yaml:"region"`
	Model     string `yaml:"model"`
	Guardrail *struct {
		ID string `yaml:"id"`
	} `yaml:"guardrail"`
}

// fakes are factories that look at their settings as the real ones do.
func fakes() map[string]llm.Factory {
	return map[string]llm.Factory{
		"azure": func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
			var s azureKeys
			if err := settings(&s); err != nil {
				return llm.Endpoint{}, err
			}
			switch {
			case s.Key == "" && s.Auth == "":
				return llm.Endpoint{}, llm.Invalid("api_key", "is empty", "give the resource's key, or a source of tokens (in a file, auth: entra)")
			case s.Key != "" && s.Auth != "":
				return llm.Endpoint{}, llm.Invalid("api_key", "is set together with a source of tokens (in a file, auth)", "set one of the two")
			}
			return endpoint(s.Deployment), nil
		},
		"bedrock": func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
			var s bedrockKeys
			if err := settings(&s); err != nil {
				return llm.Endpoint{}, err
			}
			return endpoint(s.Model), nil
		},
		"vertex": func(_ context.Context, settings func(any) error) (llm.Endpoint, error) {
			var s struct {
				Project  string `yaml:"project"`
				Location string `yaml:"location"`
				Model    string `yaml:"model"`
				Key      string `yaml:"api_key"`
			}
			return endpoint(s.Model), settings(&s)
		},
	}
}

func endpoint(model string) llm.Endpoint {
	return llm.Endpoint{Generator: llmtest.New(llmtest.Text("from " + model)), Prompt: true, Can: llm.Capabilities{Streams: true}}
}

// disk is where the wrong files are read from.
func disk(text []byte) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		fail := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
		switch filepath.ToSlash(name) {
		case "llm.yaml":
			return text, nil
		case "/forbidden":
			return fail(fs.ErrPermission)
		case "/empty":
			return []byte("\n"), nil
		case "/large":
			return make([]byte, 1<<20), nil
		case "/folder":
			return fail(syscall.EISDIR)
		case "/run/secrets/key":
			return []byte(canary + "\n"), nil
		default:
			return fail(syscall.ENOENT)
		}
	}
}

var environmentLine = regexp.MustCompile(`(?m)^# env: (.*)$`)

// open loads and builds a file, with the environment that its comments give.
func open(text []byte) (*config.Config, error) {
	env := []string{}
	for _, m := range environmentLine.FindAllSubmatch(text, -1) {
		env = append(env, string(m[1]))
	}
	c, err := config.LoadWith("llm.yaml", &config.Options{Env: env, ReadFile: disk(text)})
	if err != nil {
		return nil, err
	}
	chain, err := c.Build(context.Background(), fakes(), nil)
	if err == nil {
		err = chain.Close(context.Background())
	}
	return c, err
}

func wrongFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/wrong/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, f := range files {
		kinds[filepath.Dir(f)] = true
	}
	if len(files) < 60 || len(kinds) < 10 {
		t.Fatalf("%d wrong files of %d kinds, want 60 of 10", len(files), len(kinds))
	}
	return files
}

func TestEachWrongFileIsOneMessageWithPlaceCauseAndRemedy(t *testing.T) {
	t.Parallel()
	for _, file := range wrongFiles(t) {
		t.Run(strings.TrimSuffix(filepath.ToSlash(file), ".yaml")[len("testdata/wrong/"):], func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = open(text)
			var wrong *config.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("got %v, want a *config.Error", err)
			}
			if !errors.Is(err, llm.ErrInvalid) {
				t.Error("the error is not llm.ErrInvalid")
			}
			checkProblems(t, wrong)
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", wrong.Error()+"\n\n"+wrong.Detail())
		})
	}
}

// goWord is what a user of a file has never heard of.
var goWord = regexp.MustCompile(`(?i)\b(struct|interface|slice|reflect|int64|float64|strconv|unmarshal|nil|errno|config\.|fallback\.|(?-i:llm\.[A-Z])|policy\.)`)

func checkProblems(t *testing.T, e *config.Error) {
	t.Helper()
	if len(e.Problems) == 0 || strings.Contains(e.Error(), "\n") {
		t.Errorf("%d problems, on one line: %q", len(e.Problems), e.Error())
	}
	for _, p := range e.Problems {
		if p.File == "" && p.Variable == "" {
			t.Errorf("no place: %v", p)
		}
		if p.What == "" || p.Fix == "" && p.Note == "" && p.Variable == "" {
			t.Errorf("no cause or remedy: %v", p)
		}
	}
	for _, text := range []string{e.Error(), e.Detail()} {
		if m := goWord.FindString(text); m != "" {
			t.Errorf("%q is a word of Go: %s", m, text)
		}
		for i := range len(canary) - 5 {
			if part := canary[i : i+6]; strings.Contains(text, part) {
				t.Errorf("%q of the secret is shown: %s", part, text)
			}
		}
		for line := range strings.SplitSeq(e.Detail(), "\n") {
			if n := len([]rune(line)); strings.Contains(line, " | ") && !strings.Contains(line, "there are") && n > 160 {
				t.Errorf("a line of %d signs: %s", n, line)
			}
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
