package grpcdeadline

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/punctual-llm/punctual/deadline"
)

// UnaryClient returns an interceptor that tells the server of each call how long it may take, by
// [deadline.Header.Set] from the call's context, in metadata of the header's name. A call for which nobody waits until
// a deadline goes on as it is. gRPC's own retries of a call send the number of the first try.
func UnaryClient(h *deadline.Header) grpc.UnaryClientInterceptor {
	t := spelled(h)
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		return invoke(t.outgoing(ctx), method, req, reply, cc, opts...)
	}
}

// StreamClient is [UnaryClient] for streams: the number is for the whole stream.
func StreamClient(h *deadline.Header) grpc.StreamClientInterceptor {
	t := spelled(h)
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		return open(t.outgoing(ctx), desc, cc, method, opts...)
	}
}

// header is a deadline.Header with its name, and the key of that in metadata.
type header struct {
	deadline.Header
	key string
}

func spelled(h *deadline.Header) *header {
	t := new(header)
	if h != nil {
		t.Header = *h
	}
	if t.Name == "" {
		t.Name = deadline.DefaultName
	}
	t.key = strings.ToLower(t.Name)
	return t
}

// outgoing is ctx with the number in its metadata. A number that is there is lowered and never raised.
func (t *header) outgoing(ctx context.Context) context.Context {
	if !deadline.Awaited(ctx) {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	values := t.http(md)
	t.Set(ctx, values)
	md.Delete(t.key)
	md.Append(t.key, values.Values(t.Name)...)
	return metadata.NewOutgoingContext(ctx, md)
}

// http has what metadata says of the header, as deadline.Header reads it.
func (t *header) http(md metadata.MD) http.Header {
	h := make(http.Header, 1)
	for _, value := range md.Get(t.key) {
		h.Add(t.Name, value)
	}
	return h
}
