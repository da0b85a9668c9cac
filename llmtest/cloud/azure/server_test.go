package azure

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestScriptAndRaw(t *testing.T) {
	s := start(t, &Options{Script: cloud.Steps(cloudtest.Script()...)})
	cloudtest.PlaysScript(t, s, `"content":`, func() cloudtest.Outcome { return request{}.to(t, s).Outcome(t) })
}

// TestRawIgnoresTheRequest: exact bytes are for what the cloud itself would never say.
func TestRawIgnoresTheRequest(t *testing.T) {
	s := Start()
	defer s.Close()
	s.Raw(Reply{Body: []byte("[1]")})
	_, body, err := request{path: "/nowhere", body: "{", header: map[string]string{}}.to(t, s).Answer(t)
	if err != nil || body != "[1]" {
		t.Errorf("%v %q", err, body)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	epoch := time.Now().Add(-time.Minute)
	var mu sync.Mutex
	heard := 0
	s := start(t, &Options{Epoch: epoch, OnRequest: func(Request) { mu.Lock(); heard++; mu.Unlock() }})
	for _, r := range []request{{}, {body: helloStream, http2: true}, {path: "/nowhere"}, {path: openAIPath, header: map[string]string{"Authorization": "Bearer SECRET"}}} {
		if _, _, err := r.to(t, s).Answer(t); err != nil {
			t.Fatal(err)
		}
	}
	cloudtest.Last(t, s, 4)
	want := []struct {
		model  string
		stream bool
		status int
		path   string
	}{
		{"gpt-4o", false, 200, "/openai/deployments/gpt-4o/chat/completions"},
		{"gpt-4o", true, 200, "/openai/deployments/gpt-4o/chat/completions"},
		{"gpt-4o", false, 404, "/nowhere"},
		{"gpt-4o", false, 200, openAIPath},
	}
	for i, r := range s.Requests() {
		w := want[i]
		if r.N != i+1 || r.Model != w.model || r.Stream != w.stream || r.Status != w.status || r.Path != w.path || r.Gone || r.Open ||
			r.Time < time.Minute || r.Took <= 0 || !strings.HasPrefix(string(r.Body), `{"model"`) {
			t.Errorf("%d: %+v", i, r)
		}
		if strings.Contains(r.Header.Get("Authorization"), "SECRET") {
			t.Error("the log holds a credential")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if heard != 4 {
		t.Errorf("heard of %d requests", heard)
	}
}

func TestParallelRequests(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b c").Every(time.Millisecond)}}})
	var clients sync.WaitGroup
	for i := range 30 {
		clients.Go(func() {
			r := request{body: helloStream, http2: i%2 == 0}
			if _, body, err := r.to(t, s).Answer(t); err != nil || !strings.HasSuffix(body, "[DONE]\n\n") {
				t.Errorf("%v %q", err, body)
			}
		})
	}
	clients.Wait()
	cloudtest.Last(t, s, 30)
}

// TestHandlerOnAnotherListener: New serves without a port of its own.
func TestHandlerOnAnotherListener(t *testing.T) {
	s := New(nil)
	other := httptest.NewServer(s.Handler())
	defer s.Close()
	defer other.Close()
	if s.URL != "" {
		t.Errorf("URL %q", s.URL)
	}
	s.URL = other.URL
	if got := (request{}).to(t, s).Outcome(t); got.Status != 200 {
		t.Errorf("%+v", got)
	}
}

func TestCloseWhileItHangs(t *testing.T) {
	s := Start(llmtest.Hang(), llmtest.Hang(llmtest.PhaseStream))
	var clients sync.WaitGroup
	for _, http2 := range []bool{true, false} {
		clients.Go(func() {
			if got := (request{body: helloStream, http2: http2}).to(t, s).Outcome(t); got.Err == nil {
				t.Errorf("%+v", got)
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(s.Requests()) < 2 {
		<-tick.C
	}
	s.Close()
	s.Close()
	clients.Wait()
}
