package cloud

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTLS(t *testing.T) {
	l := &Log{}
	s := MustListenTLS(l.Handler(func(x *Exchange) { x.Play(Reply{Body: []byte("hi")}) }))
	t.Cleanup(func() { s.Close(); l.Drain() })
	client := s.Client()
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Post(s.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hi" || resp.ProtoMajor != 2 || resp.TLS == nil {
		t.Errorf("%v %q over %s", err, body, resp.Proto)
	}
	if !strings.HasPrefix(s.URL, "https://127.0.0.1:") {
		t.Errorf("URL %q", s.URL)
	}
}

func TestNobodyElseTrustsTheCertificate(t *testing.T) {
	l := &Log{}
	s := MustListenTLS(l.Handler(func(x *Exchange) { x.Play(Reply{}) }))
	t.Cleanup(func() { s.Close(); l.Drain() })
	stranger := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(stranger.CloseIdleConnections)
	if _, err := stranger.Get(s.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger gets %v", err)
	}
}

// TestTLSReset: a reset is one on the wire, below TLS.
func TestTLSReset(t *testing.T) {
	l := &Log{}
	s := MustListenTLS(l.Handler(func(x *Exchange) {
		x.Play(Reply{Chunks: []Chunk{{Data: []byte("half")}}, End: EndReset})
	}))
	t.Cleanup(func() { s.Close(); l.Drain() })
	client := s.Client()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Post(s.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil || resp.ProtoMajor != 1 {
		t.Errorf("%v after %q over %s", err, body, resp.Proto)
	}
}

func TestListenTLSWithoutAPort(t *testing.T) {
	if _, err := ListenTLS("nowhere.invalid:1", nil); err == nil || !strings.HasPrefix(err.Error(), "cloud: ") {
		t.Errorf("%v", err)
	}
}
