package grpcdeadline

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/deadline"
)

// UnaryServer returns an interceptor that makes an execution of each call's context, as [deadline.Middleware] does: it
// ends after the time received in the metadata, at most h.Max, or with grpc-timeout if that is sooner. Calls without
// the metadata are bounded by h.Max and grpc-timeout, if there are any. Nothing is taken off for the hop: the sender
// did that.
//
// Metadata that [deadline.Header.Get] refuses is answered with the code InvalidArgument; when no time is left, with
// DeadlineExceeded. Then the handler is not called.
func UnaryServer(h *deadline.Header) grpc.UnaryServerInterceptor {
	t := spelled(h)
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		ctx, cancel, err := t.serving(ctx)
		defer cancel()
		if err != nil {
			return nil, err
		}
		return handle(ctx, req)
	}
}

// StreamServer is [UnaryServer] for streams. The stream's Context is the execution's, and once that is over SendMsg
// and RecvMsg fail. One that blocks at that moment goes on until gRPC ends it: with grpc-timeout, or when the client
// has gone. A handler that must not wait so long watches its Context and returns.
func StreamServer(h *deadline.Header) grpc.StreamServerInterceptor {
	t := spelled(h)
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		ctx, cancel, err := t.serving(stream.Context())
		defer cancel()
		if err != nil {
			return err
		}
		return handle(srv, &bounded{ServerStream: stream, ctx: ctx})
	}
}

// serving is the execution of one call. The CancelFunc is never nil.
func (t *header) serving(ctx context.Context) (context.Context, context.CancelFunc, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	received, ok, err := t.Get(t.http(md))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ctx, func() {}, status.Error(codes.DeadlineExceeded, err.Error())
	case err != nil:
		return ctx, func() {}, status.Error(codes.InvalidArgument, err.Error())
	case !ok:
		received = t.Max
	}
	var cancel context.CancelFunc
	if received > 0 {
		ctx, cancel = deadline.With(ctx, received, nil)
	} else {
		ctx, cancel = deadline.Limit(ctx, nil)
	}
	if err := deadline.Check(ctx); err != nil {
		return ctx, cancel, status.Error(codes.DeadlineExceeded, err.Error())
	}
	return ctx, cancel, nil
}

// bounded is a stream that ends with its execution.
type bounded struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

// Context is the execution's.
func (b *bounded) Context() context.Context { return b.ctx }

// SendMsg fails once the execution is over.
func (b *bounded) SendMsg(m any) error {
	if err := b.over(); err != nil {
		return err
	}
	return b.ServerStream.SendMsg(m)
}

// RecvMsg fails once the execution is over.
func (b *bounded) RecvMsg(m any) error {
	if err := b.over(); err != nil {
		return err
	}
	return b.ServerStream.RecvMsg(m)
}

func (b *bounded) over() error {
	if b.ctx.Err() == nil {
		return nil
	}
	return status.FromContextError(context.Cause(b.ctx)).Err()
}
