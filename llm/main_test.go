package llm_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/llm"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands in for a prompt, an answer, a key: whatever must never appear in a log.
const canary = "CANARY-6b1f-do-not-log"

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./llm -run %s -update writes it)", err, t.Name())
	}
	if string(got) != string(want) {
		t.Errorf("%s differs\n got: %s\nwant: %s", path, got, want)
	}
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatalf("marshal %T: %v", v, err)
	}
	return string(b)
}

// noCanary fails if the canary shows anywhere in text.
func noCanary(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, canary) {
		t.Errorf("%s shows the canary: %s", what, text)
	}
}

// ask is the smallest valid request.
func ask() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("hi")}} }

func answer(parts ...llm.Part) *llm.Response {
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishStop}
}

func text(delta string) llm.Event { return llm.Event{Kind: llm.EventText, Delta: delta} }

// script is a Generator that keeps the contract: it streams events, folds what the sink accepted, and fails
// with err at the end if there is one.
func script(err error, events ...llm.Event) llm.GeneratorFunc {
	return func(_ context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
		var a llm.Accumulator
		for _, e := range events {
			if sink != nil {
				if err := sink(e); err != nil {
					return a.Partial(), err
				}
			}
			a.Add(e)
		}
		if err != nil {
			return a.Partial(), err
		}
		return a.Response(), nil
	}
}

func client(g llm.Generator) *llm.Client { return llm.NewClient(g, nil) }
