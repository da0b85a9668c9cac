package vertex

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/punctual-llm/punctual/internal/cloudtest"
)

// rpcClient is a gRPC client that ends with the test.
func rpcClient(t *testing.T, s *Server) aiplatformpb.PredictionServiceClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return aiplatformpb.NewPredictionServiceClient(conn)
}

// rpcRequest is one request over gRPC; the zero rpcRequest is a valid unary one.
type rpcRequest struct {
	stream bool
	model  string            // resource
	body   string            // without the model
	header map[string]string // authorization: Bearer t, unless one is given
}

// message is the request, nil if it has no form over gRPC.
func (r rpcRequest) message() *aiplatformpb.GenerateContentRequest {
	m := new(aiplatformpb.GenerateContentRequest)
	if protojson.Unmarshal([]byte(cmp.Or(r.body, hello)), m) != nil {
		return nil
	}
	m.Model = cmp.Or(r.model, resource+"gemini-2.5-flash")
	return m
}

// send sends r and calls each with every response. It returns how that ended, nil for the proper end.
func (r rpcRequest) send(ctx context.Context, client aiplatformpb.PredictionServiceClient, each func(*aiplatformpb.GenerateContentResponse)) error {
	header := metadata.New(r.header)
	if r.header == nil || r.header["x-punctual-fault"] != "" || r.header["x-turn"] != "" {
		header.Set("authorization", "Bearer t")
	}
	ctx = metadata.NewOutgoingContext(ctx, header)
	if !r.stream {
		resp, err := client.GenerateContent(ctx, r.message())
		if err == nil {
			each(resp)
		}
		return err
	}
	stream, err := client.StreamGenerateContent(ctx, r.message())
	for err == nil {
		var resp *aiplatformpb.GenerateContentResponse
		if resp, err = stream.Recv(); err == nil {
			each(resp)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answer sends r on a connection of its own and returns the digests of its responses.
func (r rpcRequest) answer(t *testing.T, s *Server) (got string, err error) {
	t.Helper()
	return r.digest(t, rpcClient(t, s))
}

// ending is an error as a table of tests has it.
func ending(err error) string {
	if err == nil {
		return ""
	}
	return status.Code(err).String()
}

// statusOf reads an error of gRPC as an error body.
func statusOf(err error) apiError {
	p := status.Convert(err).Proto()
	for _, s := range statuses() {
		if s.grpc == codes.Code(p.GetCode()) {
			return apiError{Message: p.GetMessage(), Status: s.word}
		}
	}
	return apiError{Message: p.GetMessage()}
}

// digest is answer on a client that is there.
func (r rpcRequest) digest(t *testing.T, client aiplatformpb.PredictionServiceClient) (got string, err error) {
	t.Helper()
	var all []string
	err = r.send(t.Context(), client, func(resp *aiplatformpb.GenerateContentResponse) {
		all = append(all, rpcDigest(t, resp))
	})
	return strings.Join(all, " | "), err
}

func rpcDigest(t *testing.T, resp *aiplatformpb.GenerateContentResponse) string {
	t.Helper()
	body, err := protojson.Marshal(resp)
	if err != nil {
		t.Error(err)
	}
	return digest(t, string(body))
}

// leaving sends r and cancels when what has come is enough, and a little later at that, in case more comes.
func (r rpcRequest) leaving(t *testing.T, s *Server, enough func(string) bool) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client := rpcClient(t, s)
	var got []string
	var mu sync.Mutex
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(got, " | ")
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = r.send(ctx, client, func(resp *aiplatformpb.GenerateContentResponse) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, rpcDigest(t, resp))
		})
	}()
	cloudtest.Linger(done, func() bool { return enough(text()) })
	cancel()
	<-done
	return text(), err
}
