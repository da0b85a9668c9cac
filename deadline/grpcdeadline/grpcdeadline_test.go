package grpcdeadline_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/deadline/grpcdeadline"
)

const (
	ms  = time.Millisecond
	s   = time.Second
	key = "x-deadline-ms"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	question = grpc_health_v1.HealthCheckRequest
	answer   = grpc_health_v1.HealthCheckResponse
	events   = grpc_health_v1.Health_WatchServer
)

// service is gRPC's health service, played by a test: Check is its unary call, Watch its stream.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(context.Context) error
	watch func(events) error
}

func (v *service) Check(ctx context.Context, _ *question) (*answer, error) {
	return new(answer), v.check(ctx)
}

func (v *service) Watch(_ *question, stream events) error { return v.watch(stream) }

// dial starts a server with the interceptors of one Header and a client with those of another, in memory.
func dial(t *testing.T, v *service, client, server *deadline.Header) grpc_health_v1.HealthClient {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	g := grpc.NewServer(
		grpc.UnaryInterceptor(grpcdeadline.UnaryServer(server)), grpc.StreamInterceptor(grpcdeadline.StreamServer(server)),
	)
	grpc_health_v1.RegisterHealthServer(g, v)
	var served sync.WaitGroup
	served.Go(func() { _ = g.Serve(l) })
	conn, err := grpc.NewClient(
		"passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithUnaryInterceptor(grpcdeadline.UnaryClient(client)), grpc.WithStreamInterceptor(grpcdeadline.StreamClient(client)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); g.Stop(); served.Wait() })
	return grpc_health_v1.NewHealthClient(conn)
}

// both makes the unary call and reads the stream to its end.
func both(ctx context.Context, c grpc_health_v1.HealthClient) map[string]error {
	_, unary := c.Check(ctx, new(question))
	stream, err := c.Watch(ctx, new(question))
	for err == nil {
		_, err = stream.Recv()
	}
	if strings.HasSuffix(err.Error(), "EOF") {
		err = nil
	}
	return map[string]error{"unary": unary, "stream": err}
}

// within gives a context with a deadline of its own, none if d is 0.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// TestClient: the metadata is what is left less the hop, floored, lowered and never raised, of both kinds of call.
func TestClient(t *testing.T) {
	t.Parallel()
	gateway := &deadline.Header{Name: "X-Gateway-Timeout-Seconds", Unit: s, Max: 895 * s}
	for _, tt := range []struct {
		name  string
		h     *deadline.Header
		left  time.Duration
		there []string
		want  []string
	}{
		{"nobody waits", nil, 0, nil, nil},
		{"nobody waits, what is there stays", nil, 0, []string{"7", "soon"}, []string{"7", "soon"}},
		{"milliseconds", nil, 42*s + 700*ms, nil, []string{"42700"}},
		{"configured 895 s, remaining 42.7 s", gateway, 42*s + 700*ms, nil, []string{"42"}},
		{"remaining above configured", gateway, 1000 * s, nil, []string{"895"}},
		{"below one unit", gateway, 900 * ms, nil, nil},
		{"below one unit, what is there goes", gateway, 900 * ms, []string{"895"}, nil},
		{"what is there is lowered", nil, 5 * s, []string{"6000"}, []string{"5000"}},
		{"and not raised", nil, 5 * s, []string{"4000"}, []string{"4000"}},
		{"the hop is taken off", &deadline.Header{Hop: 50 * ms}, 5 * s, nil, []string{"4950"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				name := key
				if tt.h != nil && tt.h.Name != "" {
					name = strings.ToLower(tt.h.Name)
				}
				seen := func(ctx context.Context) error {
					md, _ := metadata.FromIncomingContext(ctx)
					if got := md[name]; !slices.Equal(got, tt.want) {
						t.Errorf("metadata is %q, want %q", got, tt.want)
					}
					if got := md["other"]; !slices.Equal(got, []string{"1"}) {
						t.Errorf("other metadata is %q", got)
					}
					return nil
				}
				v := &service{check: seen, watch: func(stream events) error { return seen(stream.Context()) }}
				c := dial(t, v, tt.h, &deadline.Header{Name: "x-unused"})
				ctx, cancel := within(t.Context(), tt.left)
				defer cancel()
				ctx = metadata.AppendToOutgoingContext(ctx, "other", "1")
				for _, value := range tt.there {
					ctx = metadata.AppendToOutgoingContext(ctx, name, value) //nolint:fatcontext // several values
				}
				for kind, err := range both(ctx, c) {
					if err != nil {
						t.Errorf("%s: %v", kind, err)
					}
				}
			})
		})
	}
}

// TestServer: min(own, received); InvalidArgument on garbage, DeadlineExceeded when spent.
func TestServer(t *testing.T) {
	t.Parallel()
	capped := &deadline.Header{Max: 30 * s}
	for _, tt := range []struct {
		name     string
		h        *deadline.Header
		own      time.Duration // grpc-timeout; 0: none
		received []string
		left     time.Duration // -1: the handler has no execution deadline
		code     codes.Code
		message  string
	}{
		{"received", nil, 0, []string{"20000"}, 20 * s, codes.OK, ""},
		{"received below grpc-timeout", nil, 60 * s, []string{"20000"}, 20 * s, codes.OK, ""},
		{"grpc-timeout below what is received", nil, 10 * s, []string{"20000"}, 10 * s, codes.OK, ""},
		{"grpc-timeout alone", nil, 10 * s, nil, 10 * s, codes.OK, ""},
		{"neither", nil, 0, nil, -1, codes.OK, ""},
		{"at most Max", capped, 0, []string{"60000"}, 30 * s, codes.OK, ""},
		{"Max alone", capped, 0, nil, 30 * s, codes.OK, ""},
		{"no hop is taken off", &deadline.Header{Hop: 5 * s}, 0, []string{"20000"}, 20 * s, codes.OK, ""},
		{"equal repeats", nil, 0, []string{"20000", "20000"}, 20 * s, codes.OK, ""},
		{"garbage", nil, 0, []string{"soon"}, 0, codes.InvalidArgument, "want digits only"},
		{"a sign", nil, 0, []string{"-5"}, 0, codes.InvalidArgument, "want digits only"},
		{"different repeats", nil, 0, []string{"5", "6"}, 0, codes.InvalidArgument, "more than once"},
		{"overflow", nil, 0, []string{"9223372036854775807"}, 0, codes.InvalidArgument, "too large"},
		{"zero", nil, 0, []string{"0"}, 0, codes.DeadlineExceeded, "no time is left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				seen := func(ctx context.Context) error {
					calls++
					left, ok := deadline.Remaining(ctx)
					if ok != (tt.left >= 0) || left != max(tt.left, 0) {
						t.Errorf("remaining is %v, %v, want %v", left, ok, tt.left)
					}
					return nil
				}
				v := &service{check: seen, watch: func(stream events) error { return seen(stream.Context()) }}
				c := dial(t, v, &deadline.Header{Name: "x-unused"}, tt.h)
				ctx, cancel := within(t.Context(), tt.own)
				defer cancel()
				for _, value := range tt.received {
					ctx = metadata.AppendToOutgoingContext(ctx, key, value) //nolint:fatcontext // several values
				}
				for kind, err := range both(ctx, c) {
					if got := status.Convert(err); got.Code() != tt.code || !strings.Contains(got.Message(), tt.message) {
						t.Errorf("%s: %v, want %v with %q", kind, err, tt.code, tt.message)
					}
				}
				if want := map[bool]int{true: 2, false: 0}[tt.code == codes.OK]; calls != want {
					t.Errorf("%d calls of the handler, want %d", calls, want)
				}
			})
		})
	}
}

// TestServerBoundsHandler: the handler's context ends in time with the typed error, and a stream takes no message
// any more, although the client waits longer.
func TestServerBoundsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "deadline: execution deadline exceeded (1.5s of 1.5s used)"
		v := &service{
			check: func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			},
			watch: func(stream events) error {
				for {
					if err := stream.Send(new(answer)); err != nil {
						var m question
						if status.Code(stream.RecvMsg(&m)) != codes.DeadlineExceeded {
							t.Error("a message could be received after the end")
						}
						return err
					}
					time.Sleep(s)
				}
			},
		}
		c := dial(t, v, &deadline.Header{Name: "x-unused"}, nil)
		start := time.Now()
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), key, "1500"), time.Hour)
		defer cancel()
		for kind, err := range both(ctx, c) {
			if got := status.Convert(err); got.Code() != codes.DeadlineExceeded || got.Message() != text {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if took := time.Since(start); took != 3500*ms { // 1.5 s, and a stream that looks each second
			t.Errorf("took %v", took)
		}
	})
}

// TestServerInExecution: a call to a server whose own execution is about to end is refused.
func TestServerInExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 60*s, nil)
		defer cancel()
		serve := grpcdeadline.UnaryServer(nil)
		call := func() error {
			_, err := serve(ctx, nil, nil, func(context.Context, any) (any, error) { return nil, nil })
			return err
		}
		time.Sleep(55 * s)
		if err := call(); err != nil {
			t.Errorf("with the floor left: %v", err)
		}
		time.Sleep(ms)
		if err := call(); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("below the floor: %v", err)
		}
	})
}

// TestThreeHops: the number shrinks by at least the deduction from hop to hop.
func TestThreeHops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &deadline.Header{Hop: 100 * ms}
		var seen []string
		var next grpc_health_v1.HealthClient
		for range 3 {
			after := next
			next = dial(t, &service{check: func(ctx context.Context) error {
				md, _ := metadata.FromIncomingContext(ctx)
				seen = append(seen, md[key]...)
				if after == nil {
					return nil
				}
				time.Sleep(250 * ms)
				_, err := after.Check(ctx, new(question))
				return err
			}}, h, h)
		}
		ctx, cancel := deadline.With(t.Context(), 20*s, nil)
		defer cancel()
		if _, err := next.Check(ctx, new(question)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"19900", "19550", "19200"}; !slices.Equal(seen, want) {
			t.Errorf("the hops were told %q, want %q", seen, want)
		}
	})
}
