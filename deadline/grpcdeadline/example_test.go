package grpcdeadline_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/deadline/grpcdeadline"
)

// slow is a service that takes a minute, unless its caller waits for less.
type slow struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (slow) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if left, ok := deadline.Remaining(ctx); ok && left < time.Minute {
		return nil, fmt.Errorf("a minute is needed, less than 10 s are left: %v", left < 10*time.Second)
	}
	return new(grpc_health_v1.HealthCheckResponse), nil
}

// The server is told how long its caller waits, less 50 ms for the way there and back.
func Example() {
	h := &deadline.Header{Hop: 50 * time.Millisecond}
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcdeadline.UnaryServer(h)))
	grpc_health_v1.RegisterHealthServer(server, slow{})
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcdeadline.UnaryClient(h)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	ctx, cancel := deadline.With(context.Background(), 10*time.Second, nil)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, new(grpc_health_v1.HealthCheckRequest))
	fmt.Println(err)
	// Output: rpc error: code = Unknown desc = a minute is needed, less than 10 s are left: true
}
