package bedrock

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/internal/cloudtest"
	"github.com/punctual-llm/punctual/llmtest"
)

func TestScriptAndRaw(t *testing.T) {
	s := start(t, &Options{Script: cloud.Steps(cloudtest.Script()...)})
	cloudtest.PlaysScript(t, s, `"text":`, func() cloudtest.Outcome { return request{}.to(t, s).Outcome(t) })
}

// TestRawIgnoresTheRequest: exact bytes are for what the cloud itself would never say.
func TestRawIgnoresTheRequest(t *testing.T) {
	s := Start()
	defer s.Close()
	s.Raw(Reply{Body: []byte("[1]")})
	if got := (request{path: "/nowhere", body: "{", header: bearer("")}).to(t, s).Outcome(t); got.Err != nil || got.Body != "[1]" {
		t.Errorf("%+v", got)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	epoch := time.Now().Add(-time.Minute)
	var mu sync.Mutex
	heard := 0
	s := start(t, &Options{Epoch: epoch, OnRequest: func(Request) { mu.Lock(); heard++; mu.Unlock() }})
	for _, r := range []request{{}, {path: streamPath, http2: true}, {path: "/nowhere"}, {header: bearer("Bearer SECRET")}} {
		if _, _, err := r.to(t, s).Answer(t); err != nil {
			t.Fatal(err)
		}
	}
	cloudtest.Last(t, s, 4)
	const id = "us.anthropic.claude-sonnet-4-20250514-v1:0"
	want := []struct {
		model  string
		stream bool
		path   string
	}{{id, false, unaryPath}, {id, true, streamPath}, {"", false, "/nowhere"}, {id, false, unaryPath}}
	for i, r := range s.Requests() {
		w := want[i]
		if r.N != i+1 || r.Model != w.model || r.Stream != w.stream || r.Status != 200 || r.Path != w.path || r.Gone || r.Open ||
			r.Time < time.Minute || r.Took <= 0 || string(r.Body) != hello {
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
			r := request{path: streamPath, http2: i%2 == 0}
			if got := r.to(t, s).Outcome(t); got.Err != nil || digests(t, got.Body) != "assistant | 0 a  | 0 b  | 0 c | 0 end | stop end_turn | metadata" {
				t.Errorf("%v %s", got.Err, digests(t, got.Body))
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
	if s.URL != "" || s.CertPool() != nil {
		t.Errorf("URL %q", s.URL)
	}
	s.URL = other.URL
	if got := (request{}).to(t, s).Outcome(t); got.Status != 200 {
		t.Errorf("%+v", got)
	}
}

func TestTLS(t *testing.T) {
	s := start(t, &Options{TLS: true})
	client := s.Client()
	defer client.CloseIdleConnections()
	for n := range 2 {
		resp, err := client.Do(request{path: streamPath}.to(t, s).Request)
		if err != nil {
			t.Fatal(err)
		}
		if body := readAll(t, resp.Body); resp.ProtoMajor != 2 || digests(t, body) != "assistant | 0 ok | 0 end | stop end_turn | metadata" {
			t.Errorf("%d: %s %q", n, resp.Proto, body)
		}
		resp.Body.Close()
	}
	if s.CertPool() == nil || !strings.HasPrefix(s.URL, "https://") {
		t.Error(s.URL)
	}
}

// TestEarly: the answer is there before the request is, and the log has the request all the same.
func TestEarly(t *testing.T) {
	s := start(t, &Options{Early: true, AccessKey: "nobody's"})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST "+streamPath+" HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got []string
	for range 5 {
		m, err := eventstream.NewDecoder().Decode(resp.Body, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Headers.Get(":event-type").String())
	}
	if strings.Join(got, " ") != "messageStart contentBlockDelta contentBlockStop messageStop metadata" {
		t.Errorf("%q", got)
	}
	_, _ = io.WriteString(conn, "{}")
	if rest := readAll(t, resp.Body); rest != "" {
		t.Errorf("and then %q", rest)
	}
	if r := cloudtest.Last(t, s, 1); string(r.Body) != "{}" || !r.Stream || r.Status != 200 {
		t.Errorf("logged %+v", r)
	}
	if got := (request{path: "/nowhere"}).to(t, s).Outcome(t); got.Body != unknownOperation {
		t.Errorf("%+v", got)
	}
	for _, http2 := range []bool{false, true} {
		if got := (request{path: streamPath, http2: http2}).to(t, s).Outcome(t); got.Err != nil || !strings.HasSuffix(digests(t, got.Body), "metadata") {
			t.Errorf("%+v", got)
		}
	}
}

func TestCloseWhileItHangs(t *testing.T) {
	for _, early := range []bool{false, true} {
		s := StartOptions(&Options{Early: early, Script: []Turn{{Step: llmtest.Hang()}, {Step: llmtest.Hang(llmtest.PhaseStream)}}})
		var clients sync.WaitGroup
		for _, http2 := range []bool{true, false} {
			clients.Go(func() {
				if got := (request{path: streamPath, http2: http2}).to(t, s).Outcome(t); got.Err == nil {
					t.Errorf("%+v", got)
				}
			})
		}
		tick := time.NewTicker(time.Millisecond)
		for len(s.Requests()) < 2 {
			<-tick.C
		}
		tick.Stop()
		s.Close()
		s.Close()
		clients.Wait()
	}
}
