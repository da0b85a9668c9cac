package adaptertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is a provider by hand: it answers every request in one way and keeps what was sent.
type Server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []Seen
}

// Seen is a request that came.
type Seen struct {
	Path   string
	Header http.Header
	Body   map[string]any // nil if it is no object
	Raw    string
}

// Serve starts a Server, which ends with the test.
func Serve(tb testing.TB, handle http.HandlerFunc) *Server {
	tb.Helper()
	s := new(Server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(raw, &body)
		s.mu.Lock()
		s.seen = append(s.seen, Seen{r.URL.RequestURI(), r.Header, body, string(raw)})
		s.mu.Unlock()
		handle(w, r)
	}))
	tb.Cleanup(s.Close)
	return s
}

// Requests are those that came so far.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// Last is the latest request.
func (s *Server) Last(t *testing.T) Seen {
	t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// Reply answers with one body.
func Reply(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// StreamOf makes answers that are event streams under a header, given in pairs.
type StreamOf []string

// Events answers with an event stream, each piece in a write of its own, and ends it properly.
func (header StreamOf) Events(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { header.write(w, pieces) }
}

// ThenHang is Events on a connection that stays open until the client goes.
func (header StreamOf) ThenHang(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header.write(w, pieces)
		<-r.Context().Done()
	}
}

// ThenAbort is Events on a connection that is closed in the middle of the body.
func (header StreamOf) ThenAbort(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		header.write(w, pieces)
		panic(http.ErrAbortHandler)
	}
}

func (header StreamOf) write(w http.ResponseWriter, pieces []string) {
	for i := 0; i+1 < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.WriteHeader(http.StatusOK)
	for _, p := range pieces {
		_, _ = io.WriteString(w, p)
		_ = http.NewResponseController(w).Flush()
	}
}
