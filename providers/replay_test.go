package providers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-llm/punctual/internal/given"
	"github.com/punctual-llm/punctual/llm"
)

// recording is one file.
type recording struct {
	ID       string
	Provider string
	Kind     string // unary, stream, error
	Model    string
	Request  struct {
		Method, Path string
		Body         json.RawMessage // null: not known
	}
	Response struct {
		Status     int
		Headers    map[string]string
		Body       string
		BodyBase64 string `json:"body_base64"`
	}
	Expect map[string]json.RawMessage
}

// adapter is how recordings of one provider are played. A new provider adds its row to adapters.
type adapter struct {
	// open returns the Generator that sends what rec describes to a server at url.
	open func(rec *recording, url string, client *http.Client) (llm.Generator, error)
	// request builds the request that the recorded body means; its error is an unfit if it cannot be said.
	request func(rec *recording) (*llm.Request, error)
	// outcome reads what expect says in terms of this SDK, and tells what of it does not fit.
	outcome func(rec *recording) (want expectation, unfit []string)
	// frames counts the events of a stream's bytes.
	frames func(body []byte) int
	// allowed are the leaves of a request in which this SDK differs.
	allowed []allowance
}

// loadRecordings reads all files, or skips the test.
func loadRecordings(t *testing.T) []*recording {
	t.Helper()
	folder := given.Find(t, "recordings", "PUNCTUAL_RECORDINGS", "../shared/recordings")
	var all []*recording
	err := filepath.WalkDir(folder.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rec := new(recording)
		if err := json.Unmarshal(text, rec); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, rec)
		return nil
	})
	folder.Check(t, len(all), err)
	return all
}

// result is what a call made of a recording.
type result struct {
	resp   *llm.Response
	err    error
	events []llm.Event
	frames int           // of a stream, as far as it was read
	path   string        // asked for
	body   []byte        // sent
	method string        // used
	calls  []http.Header // one a request
	unfit  string        // why the recorded request could not be sent; another was
}

// play sends what rec describes to a server that answers with its reply.
func play(t *testing.T, rec *recording, a *adapter) *result {
	t.Helper()
	got := new(result)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got.method, got.path, got.body = r.Method, r.URL.RequestURI(), body
		got.calls = append(got.calls, r.Header)
		mu.Unlock()
		rec.reply(t, w)
	}))
	defer server.Close()
	seen := &tee{next: new(http.Transport)}
	defer seen.next.CloseIdleConnections()
	g, err := a.open(rec, server.URL, &http.Client{Transport: seen})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	req, err := a.request(rec)
	if why, ok := errors.AsType[unfit](err); ok {
		got.unfit, req = string(why), &llm.Request{Messages: []llm.Message{llm.User("hello")}}
	} else if err != nil {
		t.Fatalf("request: %v", err)
	}
	if err := valid(t.Context(), req); err != nil {
		got.unfit, req = err.Error(), &llm.Request{Messages: []llm.Message{llm.User("hello")}}
	}
	var sink llm.Sink
	if rec.streams() {
		sink = func(e llm.Event) error { got.events = append(got.events, e); return nil }
	}
	got.resp, got.err = g.Generate(t.Context(), req, sink)
	got.frames = a.frames(seen.text.Bytes())
	mu.Lock()
	defer mu.Unlock()
	if len(got.calls) != 1 {
		t.Errorf("%d requests were sent, want 1", len(got.calls))
	}
	return got
}

// valid reports what llm has against a request.
func valid(ctx context.Context, req *llm.Request) error {
	answer := func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) { return new(llm.Response), nil }
	_, err := llm.NewClient(llm.GeneratorFunc(answer), nil).Generate(ctx, req)
	return err
}

// streams reports whether the request asked for a stream.
func (rec *recording) streams() bool {
	var body struct{ Stream bool }
	_ = json.Unmarshal(rec.Request.Body, &body)
	return rec.Kind == "stream" || body.Stream || strings.Contains(rec.Request.Path, "stream")
}

func (rec *recording) body(t *testing.T) []byte {
	t.Helper()
	if rec.Response.BodyBase64 == "" {
		return []byte(rec.Response.Body)
	}
	raw, err := base64.StdEncoding.DecodeString(rec.Response.BodyBase64)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// reply answers with the recorded bytes; a stream in pieces that end anywhere.
func (rec *recording) reply(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	w.Header()["Content-Type"] = nil // none, unless there is one
	for name, value := range rec.Response.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(rec.Response.Status)
	body := rec.body(t)
	const piece = 1009
	for rec.Kind == "stream" && len(body) > piece {
		_, _ = w.Write(body[:piece])
		w.(http.Flusher).Flush()
		body = body[piece:]
	}
	_, _ = w.Write(body)
}

// tee keeps what is read of the replies.
type tee struct {
	next *http.Transport
	text bytes.Buffer
}

func (t *tee) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, &t.text), resp.Body}
	}
	return resp, err
}
