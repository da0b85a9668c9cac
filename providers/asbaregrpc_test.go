package providers_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/vertexai/genai"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// rawGRPC refuses every call and keeps what came, the message byte for byte.
type rawGRPC struct {
	addr string

	mu   sync.Mutex
	seen []rawRPC
}

type rawRPC struct {
	method  string
	header  metadata.MD
	message []byte
	timeout bool // grpc-timeout
}

// rawBytes leaves messages as they are on the wire.
type rawBytes struct{}

func (rawBytes) Marshal(any) ([]byte, error) { return nil, nil }
func (rawBytes) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}
func (rawBytes) Name() string { return "proto" }

func startRawGRPC(t *testing.T) *rawGRPC {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rawGRPC{addr: l.Addr().String()}
	server := grpc.NewServer(grpc.UnknownServiceHandler(r.handle), grpc.ForceServerCodec(rawBytes{}))
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Stop(); running.Wait() })
	return r
}

func (r *rawGRPC) handle(_ any, stream grpc.ServerStream) error {
	one := rawRPC{}
	one.method, _ = grpc.MethodFromServerStream(stream)
	one.header, _ = metadata.FromIncomingContext(stream.Context())
	_, one.timeout = stream.Context().Deadline()
	if err := stream.RecvMsg(&one.message); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, one)
	return status.Error(codes.InvalidArgument, "no")
}

// take returns what has come since the last take.
func (r *rawGRPC) take() []rawRPC {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// bare makes the call with Google's own library alone.
func (r *rawGRPC) bare(ctx context.Context, t *testing.T, stream bool) rawRPC {
	t.Helper()
	conn, err := grpc.NewClient("dns:///"+r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearerToken{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client, err := genai.NewClient(ctx, "p", "us-central1", option.WithGRPCConn(conn), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	m := client.GenerativeModel("gemini-2.5-flash")
	m.SystemInstruction = &genai.Content{Role: "user", Parts: []genai.Part{genai.Text("be short")}}
	m.SetTemperature(0.5)
	m.SetMaxOutputTokens(100)
	if stream {
		_, _ = m.GenerateContentStream(ctx, genai.Text("hello <ü>")).Next()
	} else {
		_, _ = m.GenerateContent(ctx, genai.Text("hello <ü>"))
	}
	seen := r.take()
	if len(seen) != 1 {
		t.Fatalf("the library sent %d requests", len(seen))
	}
	return seen[0]
}

type bearerToken struct{}

func (bearerToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer token"}, nil
}
func (bearerToken) RequireTransportSecurity() bool { return false }

// through makes the call through a chain.
func (r *rawGRPC) through(ctx context.Context, t *testing.T, h *deadline.Header, stream bool) rawRPC {
	t.Helper()
	p, err := vertex.New(&vertex.Options{
		Project: "p", Location: "us-central1", Model: "gemini-2.5-flash", Endpoint: "http://" + r.addr,
		TokenSource: simulatedToken, Engine: vertexai.Engine, Hint: h,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if _, err := callOnce(ctx, chainOf(t, p), stream); llm.KindOf(err) != llm.ErrInvalid {
		t.Fatalf("the call ended with %v", err)
	}
	seen := r.take()
	if len(seen) != 1 {
		t.Fatalf("%d requests", len(seen))
	}
	return seen[0]
}

// As over HTTP, but for grpc-timeout, which gRPC itself writes from any context that ends: so from an attempt's, too.
func TestWithoutADeadlineACallOverGRPCIsTheSDKsOwn(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		r := startRawGRPC(t)
		bare := r.bare(context.WithoutCancel(t.Context()), t, stream)
		for _, h := range []*deadline.Header{nil, gatewayHint()} {
			sent := r.through(context.WithoutCancel(t.Context()), t, h, stream)
			if sent.method != bare.method || fmt.Sprint(headerLines(sent)) != fmt.Sprint(headerLines(bare)) || !bytes.Equal(sent.message, bare.message) {
				t.Errorf("stream %v, hint %v: sent\n%s %q\n%x\nthe library alone sends\n%s %q\n%x", stream, h != nil,
					sent.method, headerLines(sent), sent.message, bare.method, headerLines(bare), bare.message)
			}
			if bare.timeout || !sent.timeout {
				t.Errorf("stream %v: grpc-timeout is %v, of the library alone %v", stream, sent.timeout, bare.timeout)
			}
		}
	}
}

// headerLines are the metadata in a fixed order.
func headerLines(r rawRPC) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		lines = append(lines, name+": "+strings.Join(r.header[name], "|"))
	}
	return lines
}

func TestHintOverGRPC(t *testing.T) {
	t.Parallel()
	r := startRawGRPC(t)
	const name = "x-uipath-llmgateway-timeoutseconds"
	for _, stream := range []bool{false, true} {
		for _, tt := range []struct {
			total time.Duration
			want  []string
		}{
			{42*time.Second + 700*time.Millisecond, []string{"42"}},
			{2000 * time.Second, []string{"895"}},
			{990 * time.Millisecond, nil},
		} {
			ctx, cancel := deadline.With(t.Context(), tt.total, nil)
			want := tt.want
			if !stream && tt.total == 2000*time.Second { // the attempt's own limit is nearer
				want = []string{"59"}
			}
			if got := r.through(ctx, t, gatewayHint(), stream).header[name]; !slices.Equal(got, want) {
				t.Errorf("stream %v, %v left: %s is %q, want %q", stream, tt.total, name, got, want)
			}
			cancel()
		}
	}
	_, err := vertex.New(&vertex.Options{
		Project: "p", Model: "m", TokenSource: simulatedToken, Engine: vertexai.Engine, Hint: &deadline.Header{Name: "X-Left-Bin"},
	})
	if llm.KindOf(err) != llm.ErrInvalid || !strings.Contains(err.Error(), "-bin") {
		t.Errorf("a name that gRPC takes for bytes: %v", err)
	}
}
