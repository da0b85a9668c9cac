package vertexai

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/bounds"
)

// exchange is what goes over the wire under one call of the SDK, and what came back.
type exchange struct {
	channel    *grpc.ClientConn
	request    *aiplatformpb.GenerateContentRequest
	credential bearer

	got             *aiplatformpb.GenerateContentResponse // the latest message, until it is taken
	err             error                                 // gRPC's, as it was before the SDK wrapped it; io.EOF behind a stream
	problem         string                                // the code of what is wrong with a message; "": nothing is
	most            int                                   // bytes that a message may have
	header, trailer metadata.MD

	// What gRPC has seen. It is told on gRPC's own goroutines.
	sent     atomic.Bool // the header of the request went out, so anything may have
	answered atomic.Bool // the header of an answer came
	packed   atomic.Bool // and says that its messages are compressed
	ended    atomic.Bool // a status came: the end is the service's, not that of the connection
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// take returns the message that came, once.
func (x *exchange) take() *aiplatformpb.GenerateContentResponse {
	m := x.got
	x.got = nil
	return m
}

// options are those of a call. Only this call knows what its messages may have, to the byte: an error with that number
// in it is gRPC's, and no service's.
func (x *exchange) options(more []grpc.CallOption) []grpc.CallOption {
	x.most = bounds.Answer + rand.IntN(1<<16)
	return append(more[:len(more):len(more)],
		grpc.PerRPCCredentials(x.credential), grpc.ForceCodecV2(newCodec()), grpc.MaxCallRecvMsgSize(x.most))
}

// errNoExchange is for a call that is not one of ours.
var errNoExchange = status.Error(codes.Internal, "vertexai: a call without an exchange")

// errOneMessage is for a whole answer that is none, or more than one.
var errOneMessage = status.Error(codes.Internal, "vertexai: want one message")

// intercept sends our request in place of the SDK's, through the channel of its conn, and keeps the answer. The SDK gets
// the empty message that it came with: of a full one it would lose most, panic on what it does not know, and make
// an error of a blocked prompt.
//
// To gRPC it is a stream of one message, which it reads in the same way, and of which we do the counting.
func intercept(
	ctx context.Context, method string, _, _ any, cc *grpc.ClientConn, _ grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	s, err := interceptStream(ctx, &grpc.StreamDesc{ServerStreams: true}, cc, method, nil, opts...)
	if err != nil {
		return err
	}
	if err = s.SendMsg(nil); err != nil {
		return err
	}
	x := exchangeOf(ctx)
	if err = s.RecvMsg(nil); err == io.EOF { //nolint:errorlint // gRPC's, not wrapped
		return x.unusable(emptyBody)
	}
	if err != nil {
		return err
	}
	first := x.take()
	if err = s.RecvMsg(nil); err == nil {
		return x.unusable(malformed)
	}
	if err == io.EOF { //nolint:errorlint // gRPC's, not wrapped
		x.got, x.err = first, nil
		return nil
	}
	return err
}

// unusable ends a call for what came.
func (x *exchange) unusable(problem string) error {
	x.got, x.problem, x.err = nil, problem, errOneMessage
	return x.err
}

// interceptStream is intercept for streams.
func interceptStream(
	ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	x := exchangeOf(ctx)
	if x == nil {
		return nil, errNoExchange
	}
	s, err := x.channel.NewStream(ctx, desc, method, x.options(opts)...)
	if err != nil {
		x.err = err
		return nil, err
	}
	return &tap{ClientStream: s, exchange: x}, nil
}

// tap is a stream as the SDK sees it.
type tap struct {
	grpc.ClientStream
	exchange *exchange
}

// SendMsg sends our request. A stream that the service has ended already is io.EOF here, and its status comes from
// RecvMsg; the SDK would take io.EOF for the error itself.
func (t *tap) SendMsg(any) error {
	err := t.ClientStream.SendMsg(t.exchange.request)
	if err == io.EOF { //nolint:errorlint // gRPC's, not wrapped
		return nil
	}
	t.exchange.err = err
	return err
}

// RecvMsg keeps the next message and leaves the SDK's own empty.
func (t *tap) RecvMsg(any) error {
	in := new(incoming)
	x := t.exchange
	if x.err = t.ClientStream.RecvMsg(in); x.err != nil {
		x.problem = in.problem
		x.trailer = t.Trailer()
		if x.answered.Load() { // else there is none, and Header would wait
			x.header, _ = t.Header()
		}
		return x.err
	}
	x.got = &in.message
	return nil
}

// bearer is the credential of one call. gRPC refuses to send it without TLS if it is one for TLS.
type bearer struct {
	token, quotaProject string
	secure              bool
	hint                *deadline.Header // nil: none
}

// GetRequestMetadata returns the headers of the credential, and the hint: it is asked when the call is sent.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	h := make(map[string]string, 3)
	if b.token != "" {
		h["authorization"] = "Bearer " + b.token
	}
	if b.quotaProject != "" {
		h["x-goog-user-project"] = b.quotaProject
	}
	if b.hint != nil {
		header := make(http.Header, 1)
		if b.hint.Set(ctx, header); len(header) > 0 {
			h[strings.ToLower(b.hint.Name)] = header.Get(b.hint.Name)
		}
	}
	return h, nil
}

// RequireTransportSecurity reports whether the address of the call is one with TLS.
func (b bearer) RequireTransportSecurity() bool { return b.secure }

// watcher tells an exchange how far it got. The errors of gRPC do not say whether a request left, nor whether a status
// is the service's own or stands for a connection that broke.
type watcher struct{}

// TagRPC implements stats.Handler.
func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (watcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	x := exchangeOf(ctx)
	if x == nil {
		return
	}
	switch s := s.(type) {
	case *stats.OutHeader:
		x.sent.Store(true)
	case *stats.InHeader:
		x.packed.Store(s.Compression != "" && s.Compression != encoding.Identity)
		x.answered.Store(true)
	case *stats.InTrailer:
		x.ended.Store(true)
	}
}

// TagConn implements stats.Handler.
func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (watcher) HandleConn(context.Context, stats.ConnStats) {}
