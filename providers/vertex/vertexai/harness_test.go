package vertexai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// The SDK prints its warning, once for the whole program, and nothing else prints anything.
func TestMain(m *testing.M) {
	var printed bytes.Buffer
	log.SetOutput(&printed)
	for _, name := range []string{"GOOGLE_VERTEX_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		_ = os.Unsetenv(name)
	}
	code := m.Run()
	if lines := strings.Count(printed.String(), "\n"); code == 0 && (lines > 3 || strings.Count(printed.String(), "WARNING") > 1) {
		fmt.Fprintf(os.Stderr, "printed to the log of the program:\n%s", printed.String())
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience bounds every call of these tests that should end by itself.
const patience = 10 * time.Second

type (
	message = aiplatformpb.GenerateContentResponse
	request = aiplatformpb.GenerateContentRequest
	pbPart  = aiplatformpb.Part
)

// server is a PredictionService by hand: it answers every request with handle and keeps what was sent.
type server struct {
	aiplatformpb.UnimplementedPredictionServiceServer
	url    string
	handle func(c *call) error
	accept *counting

	mu   sync.Mutex
	seen []seen
}

type seen struct {
	request *request
	header  metadata.MD
	left    time.Duration // of grpc-timeout; 0: none
}

// call is one call as the server sees it.
type call struct {
	ctx    context.Context
	stream aiplatformpb.PredictionService_StreamGenerateContentServer
	whole  *message
	server *server
}

// send answers, or sends one event more.
func (c *call) send(all ...*message) error {
	for _, m := range all {
		c.whole = m
		if c.stream != nil {
			if err := c.stream.Send(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// hang waits until the client has gone.
func (c *call) hang() error {
	<-c.ctx.Done()
	return c.ctx.Err()
}

// GenerateContent implements the service.
func (s *server) GenerateContent(ctx context.Context, r *request) (*message, error) {
	c := &call{ctx: ctx, server: s}
	s.keep(ctx, r)
	return c.first(s.handle(c))
}

func (c *call) first(err error) (*message, error) {
	if c.whole == nil && err == nil {
		c.whole = new(message)
	}
	return c.whole, err
}

// StreamGenerateContent implements the service.
func (s *server) StreamGenerateContent(r *request, stream aiplatformpb.PredictionService_StreamGenerateContentServer) error {
	s.keep(stream.Context(), r)
	return s.handle(&call{ctx: stream.Context(), stream: stream, server: s})
}

func (s *server) keep(ctx context.Context, r *request) {
	one := seen{request: r}
	one.header, _ = metadata.FromIncomingContext(ctx)
	if at, ok := ctx.Deadline(); ok {
		one.left = time.Until(at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, one)
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// last is the latest request.
func (s *server) last(t *testing.T) seen {
	t.Helper()
	all := s.requests()
	if len(all) == 0 {
		t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// counting counts the connections of a listener, and can end them all.
type counting struct {
	net.Listener
	n  atomic.Int64
	mu sync.Mutex
	cs []net.Conn
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
		l.mu.Lock()
		l.cs = append(l.cs, c)
		l.mu.Unlock()
	}
	return c, err
}

// cut ends all connections: with a FIN, or with a RST.
func (l *counting) cut(reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.cs {
		if tcp, ok := c.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func serve(tb testing.TB, handle func(c *call) error, options ...grpc.ServerOption) *server {
	tb.Helper()
	return serveOn(tb, listen(tb), handle, options...)
}

func serveOn(tb testing.TB, l net.Listener, handle func(c *call) error, options ...grpc.ServerOption) *server {
	tb.Helper()
	s := &server{handle: handle, accept: &counting{Listener: l}}
	s.url = "http://" + s.accept.Addr().String()
	g := grpc.NewServer(options...)
	aiplatformpb.RegisterPredictionServiceServer(g, s)
	var running sync.WaitGroup
	running.Go(func() { _ = g.Serve(s.accept) })
	tb.Cleanup(func() { g.Stop(); running.Wait() })
	return s
}

// provider opens a provider on s.
func (s *server) provider(tb testing.TB, change ...func(*vertex.Options)) *vertex.Provider {
	tb.Helper()
	o := &vertex.Options{
		Endpoint: s.url, Project: "p1", Location: "us-central1", Model: "gemini-2.5-flash", Engine: vertexai.Engine,
		TokenSource: func(context.Context) (string, error) { return "token-1", nil },
	}
	for _, c := range change {
		c(o)
	}
	p, err := vertex.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

// answers answers every request with the same messages.
func answers(all ...*message) func(*call) error {
	return func(c *call) error { return c.send(all...) }
}

// chunk is one event, or a whole answer, with the given parts and finish.
func chunk(finish aiplatformpb.Candidate_FinishReason, parts ...*pbPart) *message {
	return &message{
		ModelVersion: "m-1", ResponseId: "r1",
		Candidates: []*aiplatformpb.Candidate{{FinishReason: finish, Content: &aiplatformpb.Content{Role: "model", Parts: parts}}},
	}
}

const (
	none = aiplatformpb.Candidate_FINISH_REASON_UNSPECIFIED
	stop = aiplatformpb.Candidate_STOP
)

func text(s string) *pbPart { return &pbPart{Data: &aiplatformpb.Part_Text{Text: s}} }

// counted adds a count of tokens: 5 in, 3 out.
func counted(m *message) *message {
	m.UsageMetadata = &aiplatformpb.GenerateContentResponse_UsageMetadata{PromptTokenCount: 5, CandidatesTokenCount: 3, TotalTokenCount: 8}
	return m
}

func hello() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("hello")}} }

// ask makes one call: without a sink, or with one that accepts everything.
func ask(tb testing.TB, g llm.Generator, req *llm.Request, stream bool) ([]llm.Event, *llm.Response, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if !stream {
		resp, err := g.Generate(ctx, req, nil)
		return nil, resp, err
	}
	var got []llm.Event
	resp, err := g.Generate(ctx, req, func(e llm.Event) error { got = append(got, e); return nil })
	return got, resp, err
}

// both asks in both modes.
func both(t *testing.T, run func(t *testing.T, stream bool)) {
	t.Helper()
	for name, stream := range map[string]bool{"unary": false, "stream": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); run(t, stream) })
	}
}

// answered asks s, which must answer.
func (s *server) answered(t *testing.T, req *llm.Request, stream bool) *llm.Response {
	t.Helper()
	_, resp, err := ask(t, s.provider(t), req, stream)
	if err != nil {
		t.Fatalf("want an answer, got %+v", err)
	}
	return resp
}

// failed checks the kind of an error and returns it.
func failed(t *testing.T, err error, kind llm.Kind) *llm.Error {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("want %s, got %T: %+v", kind, err, err)
	}
	return e
}
