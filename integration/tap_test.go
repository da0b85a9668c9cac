package integration_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// tap is a TCP proxy that keeps what goes through it.
type tap struct {
	addr     string
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	wires    []*wire
}

// wire is one connection through a tap.
type wire struct{ sent, received bytes.Buffer }

// exchange is one request and its response as they went over a wire.
type exchange struct {
	request      *http.Request
	requestBody  []byte
	response     *http.Response
	responseBody []byte
}

// startTap starts a proxy in front of the server at url.
func startTap(t *testing.T, url string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: l.Addr().String(), listener: l}
	behind := strings.TrimPrefix(url, "http://")
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client, behind) })
		}
	})
	t.Cleanup(p.close)
	return p
}

func (p *tap) serve(client net.Conn, behind string) {
	defer client.Close()
	server, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer server.Close()
	w := &wire{}
	p.mu.Lock()
	p.wires = append(p.wires, w)
	p.mu.Unlock()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, io.TeeReader(client, &w.sent))
		_ = server.(*net.TCPConn).CloseWrite() // the client has no more to say
	})
	_, _ = io.Copy(client, io.TeeReader(server, &w.received))
	_ = client.Close()
	up.Wait()
}

// close waits until both ends of every connection are gone.
func (p *tap) close() {
	_ = p.listener.Close()
	p.running.Wait()
}

// exchanges are all that went through, once the client has ended.
func (p *tap) exchanges(t *testing.T) []exchange {
	t.Helper()
	p.close()
	var all []exchange
	for _, w := range p.wires {
		all = append(all, w.exchanges(t)...)
	}
	return all
}

func (w *wire) exchanges(t *testing.T) []exchange {
	t.Helper()
	var all []exchange
	sent, received := bufio.NewReader(&w.sent), bufio.NewReader(&w.received)
	for {
		req, err := http.ReadRequest(sent)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("what was sent is no request: %v", err)
		}
		x := exchange{request: req}
		if x.requestBody, err = io.ReadAll(req.Body); err != nil {
			t.Fatalf("the body of a request: %v", err)
		}
		if x.response, err = http.ReadResponse(received, req); err != nil {
			t.Fatalf("what came back is no response: %v", err)
		}
		if x.responseBody, err = io.ReadAll(x.response.Body); err != nil {
			t.Fatalf("the body of a response: %v", err)
		}
		all = append(all, x)
	}
	if rest, _ := io.ReadAll(received); len(rest) > 0 {
		t.Fatalf("%d bytes came back that nobody asked for", len(rest))
	}
	return all
}
