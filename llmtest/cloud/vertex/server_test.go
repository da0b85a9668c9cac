package vertex

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestScriptAndRaw(t *testing.T) {
	s := start(t, &Options{Script: cloud.Steps(cloudtest.Script()...)})
	cloudtest.PlaysScript(t, s, `"text": `, func() cloudtest.Outcome { return request{}.to(t, s).Outcome(t) })
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

// TestRPCOfRaw: replies in JSON, as gRPC has them.
func TestRPCOfRaw(t *testing.T) {
	const text = `{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"foo":1}`
	const fault = `{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"},{"@type":"x"}]}}`
	tests := []struct {
		name   string
		reply  Reply
		stream bool
		want   string
		end    string
	}{
		{"body", Reply{Body: []byte(text)}, false, `"x" STOP`, ""},
		{"chunks", Reply{Chunks: []Chunk{{Data: []byte(text)}, {At: 5 * time.Millisecond, Data: []byte(text)}}}, true, `"x" STOP | "x" STOP`, ""},
		{"list", Reply{Body: []byte("[" + text + "," + text + "]")}, true, `"x" STOP | "x" STOP`, ""},
		{"error", Reply{Status: 429, Body: []byte(fault)}, false, "", "ResourceExhausted"},
		{"error in a list", Reply{Status: 429, Body: []byte("[" + fault + "]")}, true, "", "ResourceExhausted"},
		{"error behind", Reply{Chunks: []Chunk{{Data: []byte(text)}, {Data: []byte(`{"error":{"code":503}}`)}}}, true, `"x" STOP`, "Unavailable"},
		{"error without a body of its own", Reply{Status: 503, Body: []byte(`{}`)}, true, "nothing", "Unavailable"},
		{"a page", Reply{Status: 502, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>")}, false, "", "Unavailable"},
		{"nothing", Reply{Status: -1, End: "cut"}, false, "", "Internal"},
		{"cut", Reply{Chunks: []Chunk{{Data: []byte(text)}}, End: "cut"}, true, `"x" STOP`, "Internal"},
		{"no message", Reply{Chunks: []Chunk{{Data: []byte("[1]")}, {Data: []byte(`{"candidates":1}`)}}}, true, "", ""},
	}
	s := start(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s.Raw(RPC(test.reply))
			got, err := rpcRequest{stream: test.stream}.answer(t, s)
			if got != test.want || ending(err) != test.end {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestRequestsAreLogged(t *testing.T) {
	epoch := time.Now().Add(-time.Minute)
	var mu sync.Mutex
	heard := 0
	s := start(t, &Options{Epoch: epoch, OnRequest: func(Request) { mu.Lock(); heard++; mu.Unlock() }})
	for _, r := range []request{{}, {path: ssePath, http2: true}, {path: "/nowhere"}, {path: geminiPath + "?key=SECRET", header: map[string]string{"X-Goog-Api-Key": "SECRET"}}} {
		if _, _, err := r.to(t, s).Answer(t); err != nil {
			t.Fatal(err)
		}
	}
	for _, body := range []string{"", `{"contents":[]}`} {
		_, _ = rpcRequest{stream: true, body: body}.answer(t, s)
	}
	cloudtest.Last(t, s, 6)
	want := []struct {
		model  string
		stream bool
		status int
		path   string
	}{
		{"gemini-2.5-flash", false, 200, "/v1beta1/" + resource + "gemini-2.5-flash:generateContent"},
		{"gemini-2.5-flash", true, 200, "/v1beta1/" + resource + "gemini-2.5-flash:streamGenerateContent"},
		{"", false, 404, "/nowhere"},
		{"gemini-2.5-flash", false, 200, "/v1beta/models/gemini-2.5-flash:generateContent"},
		{"gemini-2.5-flash", true, 200, rpcService + "StreamGenerateContent"},
		{"gemini-2.5-flash", true, 400, rpcService + "StreamGenerateContent"},
	}
	for i, r := range s.Requests() {
		w := want[i]
		if r.N != i+1 || r.Model != w.model || r.Stream != w.stream || r.Status != w.status || r.Path != w.path || r.Gone || r.Open ||
			r.Time < time.Minute || r.Took <= 0 || !strings.HasPrefix(string(r.Body), `{"`) {
			t.Errorf("%d: %+v", i, r)
		}
		if strings.Contains(r.Query+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("Authorization"), "SECRET") {
			t.Error("the log holds a credential")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if heard != 6 {
		t.Errorf("heard of %d requests", heard)
	}
}

func TestParallelRequests(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b c").Every(time.Millisecond)}}})
	client := rpcClient(t, s)
	var clients sync.WaitGroup
	for i := range 30 {
		clients.Go(func() {
			const want = `"a " | "b " | "c" | "" STOP`
			if i%3 == 0 {
				if got, err := (rpcRequest{stream: true}).digest(t, client); got != want || err != nil {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			r := request{path: ssePath, http2: i%2 == 0}
			if _, body, err := r.to(t, s).Answer(t); err != nil || digests(t, body) != want {
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
	if s.URL != "" || s.GRPC != "" || s.CertPool() != nil {
		t.Errorf("URL %q", s.URL)
	}
	s.URL = other.URL
	if got := (request{}).to(t, s).Outcome(t); got.Status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestTLS: what sends tokens over gRPC wants it.
func TestTLS(t *testing.T) {
	s := start(t, &Options{TLS: true})
	conn, err := grpc.NewClient("passthrough:///"+s.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: s.CertPool(), MinVersion: tls.VersionTLS12})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := aiplatformpb.NewPredictionServiceClient(conn)
	if got, err := (rpcRequest{stream: true}).digest(t, client); got != `"ok" | "" STOP` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := orderedRPC(true, "reset").digest(t, client); ending(err) != "Internal" {
		t.Errorf("%v", err)
	}
	if !strings.HasPrefix(s.URL, "https://") {
		t.Error(s.URL)
	}
}

func TestCloseWhileItHangs(t *testing.T) {
	s := Start(llmtest.Hang(), llmtest.Hang(llmtest.PhaseStream))
	var clients sync.WaitGroup
	for _, http2 := range []bool{true, false} {
		clients.Go(func() {
			if got := (request{path: ssePath, http2: http2}).to(t, s).Outcome(t); got.Err == nil {
				t.Errorf("%+v", got)
			}
		})
	}
	clients.Go(func() {
		if _, err := (rpcRequest{stream: true}).answer(t, s); err == nil {
			t.Error("gRPC: no error")
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(s.Requests()) < 3 {
		<-tick.C
	}
	s.Close()
	s.Close()
	clients.Wait()
}
