package punctual_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// secret and prompt are planted: no log, error or state of health may hold them.
const (
	secret = "sk-canary-71aa"
	prompt = "the canary prompt 5c03"
)

// fakes is a provider of scripted targets by the model that a file names.
type fakes map[string]llm.Generator

func (f fakes) options(logger *slog.Logger) *punctual.Options {
	return &punctual.Options{Logger: logger, Providers: map[string]llm.Factory{
		"fake": func(_ context.Context, settings func(into any) error) (llm.Endpoint, error) {
			var s struct {
				Model string `yaml:"model"`
				Key   string `yaml:"api_key"`
			}
			if err := settings(&s); err != nil {
				return llm.Endpoint{}, err
			}
			g, ok := f[s.Model]
			if !ok {
				return llm.Endpoint{}, llm.Invalid("model", "is unknown", "use one of the test's")
			}
			return llm.Endpoint{Generator: g, Model: llm.ModelRef{Provider: "fake", Model: s.Model}, Prompt: true}, nil
		},
	}}
}

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llm.yaml")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// targets is a file of targets, named after their models.
func targets(models ...string) string {
	text := "targets:\n"
	for _, m := range models {
		text += fmt.Sprintf("  - {name: %s, provider: fake, model: %s, api_key: %s}\n", m, m, secret)
	}
	return text
}

func open(t *testing.T, path string, o *punctual.Options) *punctual.Client {
	t.Helper()
	client, err := punctual.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func ask() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User(prompt)}} }

func TestOpenAsksInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := llmtest.New(llmtest.Hang()), llmtest.New(llmtest.Text("from the second"))
		client := open(t, file(t, "plans:\n  triage: {attempt: 8s}\n"+targets("a", "b")), fakes{"a": first, "b": second}.options(nil))
		if len(first.Requests())+len(second.Requests()) != 0 {
			t.Error("Open sent something")
		}
		req := ask()
		req.Operation = llm.Triage
		start := time.Now()
		resp, err := client.Generate(t.Context(), req)
		if err != nil || resp.Text() != "from the second" || len(resp.Attempts) != 2 {
			t.Fatalf("%v, %v", resp, err)
		}
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("the first one took %s in place of its 8 s", took)
		}
	})
}

// TestOpenWithTheRealProviders: all that a file can name is there, auth and engine included.
func TestOpenWithTheRealProviders(t *testing.T) {
	t.Parallel()
	client := open(t, file(t, `targets:
  - {name: a, provider: azure, endpoint: "https://h.example", deployment: d, api_key: k}
  - {name: e, provider: azure, endpoint: "https://h.example", deployment: d, auth: entra}
  - {name: o, provider: openai, model: m}
  - {name: b, provider: bedrock, region: us-east-1, model: amazon.nova-lite-v1:0}
  - {name: v, provider: vertex, project: p, model: gemini-2.5-flash}
  - {name: g, provider: vertex, project: p, model: gemini-2.5-flash, engine: vertexai}
`), nil)
	var got []string
	for _, s := range client.Chain().Status() {
		got = append(got, s.Target+" "+s.Model.Provider)
	}
	if want := "a azure, e azure, o openai, b bedrock, v vertex, g vertex"; strings.Join(got, ", ") != want {
		t.Errorf("%s", got)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a key that is none":       "plan:\n  default: {attempt: 60s}\n" + targets("a"),
		"a provider that is none":  "targets:\n  - {name: a, provider: azur, api_key: " + secret + "}\n",
		"a setting that is none":   "targets:\n  - {name: a, provider: fake, model: a, api_kex: " + secret + "}\n",
		"a setting that is wrong":  targets("nobody"),
		"no target":                "targets: []\n",
		"a target nobody named":    "plans:\n  triage: {targets: [b]}\n" + targets("a"),
		"a limit without its unit": "plans:\n  triage: {attempt: 90}\n" + targets("a"),
	} {
		_, err := punctual.Open(t.Context(), file(t, text), fakes{"a": llmtest.New()}.options(nil))
		if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), "llm.yaml") {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(fmt.Sprintf("%+v %v", err, err), secret) {
			t.Errorf("%s: the error holds the key: %+v", name, err)
		}
	}
	if _, err := punctual.Open(t.Context(), filepath.Join(t.TempDir(), "none.yaml"), nil); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// TestReloadUnderCalls: while the file changes again and again, no call fails for it, an open breaker stays open and
// nothing is left behind.
func TestReloadUnderCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := llmtest.New(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable}))
		answer := llmtest.Text("fine").After(10 * time.Millisecond)
		f := fakes{"bad": bad, "good": llmtest.New(answer), "new": llmtest.New(answer)}
		path := file(t, "retry: {max_retries: 0}\n"+targets("bad", "good"))
		client := open(t, path, f.options(nil))
		for range 5 {
			if _, err := client.Generate(t.Context(), ask()); err != nil {
				t.Fatal(err)
			}
		}
		if s := client.Chain().Status()[0]; s.State != breaker.Open {
			t.Fatalf("the breaker of bad is %s", string(s.State))
		}
		asked := len(bad.Requests())
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond / 2)
				for range 20 {
					if _, err := client.Generate(t.Context(), ask()); err != nil {
						t.Errorf("%v", err)
					}
				}
			})
		}
		for i := range 50 {
			time.Sleep(3 * time.Millisecond)
			write(t, path, "retry: {max_retries: 0}\n"+targets([][]string{{"bad", "new", "good"}, {"bad", "good"}}[i%2]...))
			if err := client.Reload(t.Context()); err != nil {
				t.Error(err)
			}
		}
		calls.Wait()
		if s := client.Chain().Status()[0]; s.State != breaker.Open || len(bad.Requests()) != asked {
			t.Errorf("the breaker of bad is %s after %d more requests", string(s.State), len(bad.Requests())-asked)
		}
	})
}

// TestACallKeepsThePlanItBeganWith: a reload that shortens limits and takes the target away does not touch a call
// that is under way.
func TestACallKeepsThePlanItBeganWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := llmtest.New(llmtest.Text("late").After(20 * time.Second))
		path := file(t, targets("slow"))
		client := open(t, path, fakes{"slow": slow, "quick": llmtest.New(llmtest.Text("now"))}.options(nil))
		var call sync.WaitGroup
		call.Go(func() {
			if resp, err := client.Generate(t.Context(), ask()); err != nil || resp.Text() != "late" {
				t.Errorf("%v, %v", resp, err)
			}
		})
		synctest.Wait()
		write(t, path, "plans: {default: {attempt: 1s}}\n"+targets("quick"))
		if err := client.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Generate(t.Context(), ask()); err != nil || resp.Text() != "now" {
			t.Errorf("%v, %v", resp, err)
		}
		call.Wait()
	})
}

func TestABadFileKeepsTheOldPlan(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := file(t, targets("a"))
	client := open(t, path, fakes{"a": llmtest.New(llmtest.Text("still here"))}.options(slog.New(slog.NewJSONHandler(&log, nil))))
	before := client.Chain()
	for _, text := range []string{"plans: {triage: {attempt: 5}}\n" + targets("a"), targets("nobody"), "\t"} {
		write(t, path, text)
		err := client.Reload(t.Context())
		if _, ok := errors.AsType[*config.Error](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
		if client.Chain() != before {
			t.Errorf("%q replaced the chain", text)
		}
	}
	if resp, err := client.Generate(t.Context(), ask()); err != nil || resp.Text() != "still here" {
		t.Errorf("%v, %v", resp, err)
	}
	if n := strings.Count(log.String(), "not reloaded"); n != 3 || !strings.Contains(log.String(), "plans.triage.attempt") {
		t.Errorf("%d refusals: %s", n, log.String())
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log holds the key: %s", log.String())
	}
}

// TestCloseDrainsThenCancels: what ends within 10 s ends by itself, what does not is canceled then, and no call
// begins any more.
func TestCloseDrainsThenCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fakes{"quick": llmtest.New(llmtest.Text("in time").After(9 * time.Second)), "slow": llmtest.New(llmtest.Hang())}
		client := open(t, file(t, targets("quick", "slow")), f.options(nil))
		var calls sync.WaitGroup
		start := time.Now()
		end := func(name string, want error, at time.Duration) {
			calls.Go(func() {
				req := ask()
				req.Route.Only = []string{name}
				_, err := client.Generate(t.Context(), req)
				if !errors.Is(err, want) || time.Since(start) != at {
					t.Errorf("%s ended after %s with %v", name, time.Since(start), err)
				}
			})
		}
		end("quick", nil, 9*time.Second)
		end("slow", llm.ErrCanceled, 10*time.Second)
		synctest.Wait()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("Close took %s", took)
		}
		calls.Wait()
		if _, err := client.Generate(t.Context(), ask()); !errors.Is(err, llm.ErrInvalid) || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a call after Close: %v", err)
		}
		if err := client.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a reload after Close: %v", err)
		}
		if err := client.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}

func TestCloseOfAQuietClientIsQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := open(t, file(t, targets("a")), fakes{"a": llmtest.New()}.options(nil))
		start := time.Now()
		if err := client.Close(); err != nil || time.Since(start) != 0 {
			t.Errorf("%s, %v", time.Since(start), err)
		}
	})
}

// TestTheLogger: it hears what nobody called for, each name of an operation once, and no prompt or credential.
func TestTheLogger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := fakes{"bad": llmtest.New(llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Message: prompt})), "good": llmtest.New(llmtest.Text("fine"))}
		path := file(t, "retry: {max_retries: 0}\n"+targets("bad", "good"))
		client := open(t, path, f.options(slog.New(slog.NewTextHandler(&log, nil))))
		for _, op := range []llm.Operation{"summary", "summary", llm.Triage, "", "summary", llm.Operation(strings.Repeat(prompt, 3))} {
			req := ask()
			req.Operation = op
			if _, err := client.Generate(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // changes of breakers are told off the call's way
		if err := client.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		text := log.String()
		for want, times := range map[string]int{
			"an operation without a plan": 1, "operation=summary": 1, "punctual: breaker": 1, "target=bad from=closed to=open": 1,
			"punctual: reloaded": 1, secret: 0, prompt: 0,
		} {
			if n := strings.Count(text, want); n != times {
				t.Errorf("%q is there %d times, not %d, in\n%s", want, n, times, text)
			}
		}
	})
}

// TestHealth: it is 200 as long as a target of the default plan can be asked, says why one cannot, and holds no secret.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		throttled := &llm.Error{Kind: llm.ErrRateLimited, RetryAfter: 40 * time.Second}
		f := fakes{"a": llmtest.New(llmtest.Fail(throttled)), "b": llmtest.New(llmtest.Fail(throttled)), "c": llmtest.New()}
		client := open(t, file(t, "plans: {default: {targets: [a, b]}}\n"+targets("a", "b", "c")), f.options(nil))
		get := func() (int, map[string]any, string) {
			w := httptest.NewRecorder()
			client.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
			var body map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("%v: %s", err, w.Body)
			}
			return w.Code, body, w.Body.String()
		}
		status, body, text := get()
		if status != 200 || body["usable"] != true || len(body["targets"].([]any)) != 3 {
			t.Errorf("%d %s", status, text)
		}
		if strings.Contains(text, secret) || strings.Contains(text, "last_") || strings.Contains(text, "0001-01-01") {
			t.Errorf("%s", text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := client.Generate(ctx, ask()); err == nil {
			t.Fatal("it answered")
		}
		status, body, text = get()
		a := body["targets"].([]any)[0].(map[string]any)
		if status != 503 || body["usable"] != false || a["usable"] != false || a["cooled"] != "rate_limited" || a["cooled_until"] == nil || a["target"] != "a" || a["model"] != "fake/a" {
			t.Errorf("%d %s", status, text)
		}
		if c := body["targets"].([]any)[2].(map[string]any); c["usable"] != true {
			t.Errorf("c is not of the default plan, but usable: %s", text)
		}
		time.Sleep(time.Minute)
		if status, _, text := get(); status != 200 {
			t.Errorf("after the rest: %d %s", status, text)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if status, _, text := get(); status != 503 {
			t.Errorf("closed: %d %s", status, text)
		}
	})
}

// TestAClientThatWasNotOpened: the error of Open is often looked at after a defer of Close.
func TestAClientThatWasNotOpened(t *testing.T) {
	t.Parallel()
	var zero punctual.Client
	var none *punctual.Client
	if err := errors.Join(zero.Close(), zero.Close(), none.Close()); err != nil {
		t.Error(err)
	}
	if zero.Chain() != nil || none.Chain() != nil {
		t.Error("there is a chain")
	}
	_, err := zero.Generate(t.Context(), ask())
	for _, err := range []error{err, zero.Reload(t.Context()), none.Reload(t.Context())} {
		if !errors.Is(err, llm.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
	for _, client := range []*punctual.Client{&zero, none} {
		w := httptest.NewRecorder()
		client.Health().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
		if w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), `{"usable":false,"targets":[]}`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// TestCloseEndsAReload: a factory may wait for a host, and Close waits for none.
func TestCloseEndsAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32
		slow := func(ctx context.Context, _ func(any) error) (llm.Endpoint, error) {
			if opened.Add(1) > 1 {
				<-ctx.Done()
				return llm.Endpoint{}, ctx.Err()
			}
			return llm.Endpoint{Generator: llmtest.New(llmtest.Text("ok")), Prompt: true}, nil
		}
		client := open(t, file(t, targets("a")), &punctual.Options{Providers: map[string]llm.Factory{"fake": slow}})
		reloaded := make(chan error, 1)
		go func() { reloaded <- client.Reload(t.Context()) }()
		synctest.Wait()
		start := time.Now()
		if err := client.Close(); err != nil || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := <-reloaded; !errors.Is(err, llm.ErrInvalid) || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("Reload: %v", err)
		}
	})
}
