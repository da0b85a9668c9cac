package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	simazure "github.com/punctual-llm/punctual/llmtest/cloud/azure"
	simbedrock "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	simvertex "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

// simClouds are the simulated clouds behind one port, with one log.
type simClouds struct {
	azure, bedrock, vertex *simCloud

	mu       sync.Mutex
	requests int // of all clouds
	log      io.Writer
}

// simCloud is one of them, with the numbers that its requests have in the log of all.
type simCloud struct {
	handler http.Handler
	close   func()
	arrived int
	numbers map[int]int // of those that have not ended
}

func (c *simCloud) serve(s interface {
	Handler() http.Handler
	Close()
},
) {
	c.handler, c.close, c.numbers = s.Handler(), s.Close, map[int]int{}
}

// keptRequests bounds what a cloud remembers: nobody reads it here, and sim may run for days.
const keptRequests = 1

// newSimClouds answers every request with turn. A nil log is none.
func newSimClouds(turn cloud.Turn, log io.Writer) *simClouds {
	s := &simClouds{azure: &simCloud{}, bedrock: &simCloud{}, vertex: &simCloud{}, log: log}
	epoch, script := time.Now(), []cloud.Turn{turn}
	s.azure.serve(simazure.New(&simazure.Options{
		Script: script, Improvise: true, Epoch: epoch, Keep: keptRequests, OnRequest: s.note(s.azure),
	}))
	s.bedrock.serve(simbedrock.New(&simbedrock.Options{
		Script: script, Improvise: true, Epoch: epoch, Keep: keptRequests, OnRequest: s.note(s.bedrock),
	}))
	s.vertex.serve(simvertex.New(&simvertex.Options{
		Next: overRPC(turn), Improvise: true, Epoch: epoch, Keep: keptRequests, OnRequest: s.note(s.vertex),
	}))
	return s
}

// close waits for the requests that are still being answered. Close what listens first.
func (s *simClouds) close() {
	for _, c := range []*simCloud{s.azure, s.bedrock, s.vertex} {
		c.close()
	}
}

// ServeHTTP gives a request to the cloud that it is meant for.
func (s *simClouds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == tokenPath {
		serveToken(w)
		return
	}
	c := s.route(r)
	s.mu.Lock()
	s.requests++
	c.arrived++
	if s.log != nil {
		c.numbers[c.arrived] = s.requests
	}
	s.mu.Unlock()
	c.handler.ServeHTTP(w, r)
}

// The paths by which Bedrock and Google's services are known; all others are Azure's.
var (
	bedrockPath = regexp.MustCompile(`^/model/.+/converse(-stream)?$`)
	vertexPath  = regexp.MustCompile(`^/v1(beta|beta1)?/.+:(generateContent|streamGenerateContent)$`)
)

// route is the cloud that a request is meant for: by its path, or else by what only one vendor's clients send.
func (s *simClouds) route(r *http.Request) *simCloud {
	path := r.URL.EscapedPath()
	switch {
	case bedrockPath.MatchString(path):
		return s.bedrock
	case vertexPath.MatchString(path), isRPC(r.Header):
		return s.vertex
	case strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "):
		return s.bedrock
	case r.Header.Get("X-Goog-Api-Key") != "", r.Header.Get("X-Goog-Api-Client") != "":
		return s.vertex
	default:
		return s.azure
	}
}

func isRPC(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "application/grpc") }

// note writes the requests of one cloud into the log of all.
func (s *simClouds) note(c *simCloud) func(cloud.Request) {
	if s.log == nil {
		return nil
	}
	return func(r cloud.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := r.N
		r.N = c.numbers[n]
		delete(c.numbers, n)
		fmt.Fprintf(s.log, "sim: %s %s: %s\n", r.Method, r.Path, serverWords(r))
	}
}

// overRPC is turn as each request needs it: a recording over REST is no answer to gRPC, so its messages are sent.
func overRPC(turn cloud.Turn) func(cloud.Request) cloud.Turn {
	if turn.Reply == nil {
		return func(cloud.Request) cloud.Turn { return turn }
	}
	messages := *turn.Reply
	if strings.HasPrefix(messages.Header.Get("Content-Type"), "text/event-stream") {
		messages.Body, messages.Chunks = nil, eventData(messages.Body)
	}
	messages = simvertex.RPC(messages)
	return func(r cloud.Request) cloud.Turn {
		t := turn
		if isRPC(r.Header) && !isRPC(turn.Reply.Header) {
			t.Reply = &messages
		}
		return t
	}
}

// eventData is what the events of a stream carry.
func eventData(stream []byte) []cloud.Chunk {
	var chunks []cloud.Chunk
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			chunks = append(chunks, cloud.Chunk{Data: bytes.TrimSpace(data)})
		}
	}
	return chunks
}
