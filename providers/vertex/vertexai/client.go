package vertexai

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"cloud.google.com/go/vertexai/genai"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// This file has all that touches the SDK. When cloud.google.com/go/vertexai builds no more, it is replaced by one
// that makes the same calls with the client of cloud.google.com/go/aiplatform/apiv1beta1.

// sdkClient is the SDK's client, made by the first call. One serves the whole program, since the SDK prints a warning
// for each: its channel is no way to any service, for the interceptors hand every call to the channel of its own conn.
// So it is closed at once, which stops its goroutines and not its interceptors.
var sdkClient = sync.OnceValues(func() (*genai.Client, error) {
	nowhere, err := grpc.NewClient(
		"passthrough:///nowhere",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(intercept), grpc.WithStreamInterceptor(interceptStream),
	)
	if err != nil {
		return nil, err
	}
	defer func() { _ = nowhere.Close() }()
	return genai.NewClient(
		context.Background(), "-", "-", //nolint:forbidigo // for the life of the program; nothing is dialled with it
		option.WithGRPCConn(nowhere), option.WithoutAuthentication(),
		option.WithLogger(slog.New(slog.DiscardHandler)), // else a variable makes it print requests
	)
})

// The calls of the SDK, each under a recover of its own. The sink never runs under one: a stream is pulled, so the SDK
// is not on the stack when it is called.

// content stands for the request, which the interceptors put in its place.
const content = genai.Text("-")

// unary makes a call that does not stream.
func (r *reply) unary() (err error) {
	defer recovered(&err)
	client, err := sdkClient()
	if err != nil {
		return errNoClient
	}
	_, err = client.GenerativeModel(r.conn.model).GenerateContent(r.ctx, content)
	return err
}

// pull lets a stream read one event more. Its error is io.EOF at the end.
func (r *reply) pull() (err error) {
	defer recovered(&err)
	if r.events == nil {
		client, err := sdkClient()
		if err != nil {
			return errNoClient
		}
		r.events = client.GenerativeModel(r.conn.model).GenerateContentStream(r.ctx, content)
	}
	_, err = r.events.Next()
	if errors.Is(err, iterator.Done) {
		return io.EOF
	}
	return err
}

// events is a stream of the SDK.
type events = *genai.GenerateContentResponseIterator

// What the SDK can do besides failing a call. The text of a panic is not kept: it may hold anything.
var (
	errPanic    = errors.New("vertexai: the SDK panicked")
	errNoClient = errors.New("vertexai: the SDK made no client")
)

func recovered(err *error) {
	if recover() != nil {
		*err = errPanic
	}
}
