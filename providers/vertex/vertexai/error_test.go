package vertexai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// fault is a status, and the details that Google puts beside it.
type fault struct {
	code    codes.Code
	message string
	details []protoadapt.MessageV1
}

func faults() map[string]fault {
	all := map[string]fault{
		"quota of a minute": {codes.ResourceExhausted, "exceeded your current quota", []protoadapt.MessageV1{
			&errdetails.RetryInfo{RetryDelay: durationpb.New(48 * time.Second)},
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{QuotaMetric: "m", QuotaId: "GenerateRequestsPerMinute"}}},
		}},
		"quota of a day": {codes.ResourceExhausted, "exceeded your current quota", []protoadapt.MessageV1{
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{QuotaMetric: "m", QuotaId: "GenerateRequestsPerDay"}}},
		}},
		"reason":   {codes.PermissionDenied, "no", []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: "IAM_PERMISSION_DENIED", Domain: "d"}}},
		"too long": {codes.InvalidArgument, "The input token count (9) exceeds the maximum number of tokens allowed (8).", nil},
		"field":    {codes.InvalidArgument, "bad", []protoadapt.MessageV1{&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "contents", Description: "d"}}}}},
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		all[c.String()] = fault{code: c, message: "secret words"}
	}
	return all
}

func (f fault) status(t *testing.T) *status.Status {
	t.Helper()
	st, err := status.New(f.code, f.message).WithDetails(f.details...)
	if err != nil && len(f.details) > 0 {
		t.Fatal(err)
	} else if err != nil {
		st = status.New(f.code, f.message)
	}
	return st
}

// rest is the same fault as the REST API has it.
func (f fault) rest(t *testing.T) (httpStatus int, body string) {
	t.Helper()
	table := map[codes.Code]int{
		codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504, codes.NotFound: 404,
		codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429, codes.FailedPrecondition: 400,
		codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500, codes.Unavailable: 503,
		codes.DataLoss: 500, codes.Unauthenticated: 401,
	}
	details := []json.RawMessage{}
	for _, d := range f.status(t).Proto().GetDetails() {
		raw, err := protojson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		details = append(details, raw)
	}
	raw, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": table[f.code], "message": f.message, "status": code.Code(f.code).String(), "details": details,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table[f.code], string(raw)
}

// A fault is the same error over gRPC as it is over REST, whole or inside a stream.
func TestErrorsAreThoseOfTheOtherEngine(t *testing.T) {
	t.Parallel()
	for name, f := range faults() {
		for mode, begun := range map[string]bool{"at once": false, "in a stream": true} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				httpStatus, body := f.rest(t)
				over := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if begun {
						w.Header().Set("Content-Type", "text/event-stream")
						_, _ = io.WriteString(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]}}]}\n\ndata: "+body+"\n\n")
						return
					}
					w.WriteHeader(httpStatus)
					_, _ = io.WriteString(w, body)
				}))
				t.Cleanup(over.Close)
				s := serve(t, func(c *call) error {
					if begun {
						_ = c.send(chunk(none, text("hi")))
					}
					return f.status(t).Err()
				})
				want := askFor(t, s.provider(t, func(o *vertex.Options) { o.Endpoint, o.Engine = over.URL, vertex.Engine{} }))
				got := askFor(t, s.provider(t))
				if want != got {
					t.Errorf("REST  %s\ngRPC %s", want, got)
				}
			})
		}
	}
}

// askFor streams, and tells everything of the error but its cause.
func askFor(t *testing.T, p *vertex.Provider) string {
	t.Helper()
	_, resp, err := ask(t, p, hello(), true)
	if err == nil {
		return "no error"
	}
	e := failed(t, err, llm.KindOf(err))
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the text of the error has the words of the service: %v", err)
	}
	return fmt.Sprintf("%s status %d code %s message %q after %v no retry %v not sent %v text %q",
		e.Kind, e.Status, e.Code, e.Message, e.RetryAfter, e.NoRetry, e.NotSent, resp.Text())
}

func TestWhatStandsInHeadersAndDetailsOfAnError(t *testing.T) {
	t.Parallel()
	for name, md := range map[string]metadata.MD{
		"retry-after":            metadata.Pairs("retry-after", "7"),
		"grpc-retry-pushback-ms": metadata.Pairs("grpc-retry-pushback-ms", "7000"),
	} {
		both(t, func(t *testing.T, stream bool) {
			t.Helper()
			s := serve(t, func(c *call) error {
				_ = grpc.SetTrailer(c.ctx, md)
				if c.stream != nil {
					c.stream.SetTrailer(md)
				}
				return fault{codes.Unavailable, "", []protoadapt.MessageV1{&errdetails.RequestInfo{RequestId: "req 1\n"}}}.status(t).Err()
			})
			_, _, err := ask(t, s.provider(t), hello(), stream)
			if e := failed(t, err, llm.ErrUnavailable); e.RetryAfter != 7*time.Second || e.RequestID != "req1" {
				t.Errorf("%s: got %v and %q", name, e.RetryAfter, e.RequestID)
			}
		})
	}
}

// gRPC makes io.EOF of a request that the service has refused before it was sent whole; the SDK would return that.
func TestAStatusThatComesBeforeTheRequestIsThere(t *testing.T) {
	t.Parallel()
	s := serve(t, answers(), grpc.StreamInterceptor(
		func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
			return status.Error(codes.ResourceExhausted, "")
		}))
	p := s.provider(t)
	req := hello()
	req.System = strings.Repeat("x", 1<<20)
	for range 5 {
		_, _, err := ask(t, p, req, true)
		_ = failed(t, err, llm.ErrRateLimited)
	}
}

// What is no gRPC comes from something in between: its status counts, and the error in its body.
func TestAnswersThatAreNotGRPC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   llm.Kind
	}{
		"HTML of a proxy":      {502, "<html>bad gateway</html>", llm.ErrUnavailable},
		"a sign-in":            {403, "<html>who are you?</html>", llm.ErrAuth},
		"an error in JSON":     {429, `{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}`, llm.ErrRateLimited},
		"a page":               {200, "<html>welcome</html>", llm.ErrBadOutput},
		"no body":              {504, "", llm.ErrTimeout},
		"an address elsewhere": {302, "", llm.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, stream bool) {
				t.Helper()
				url := overHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				})
				_, _, err := ask(t, new(server).provider(t, func(o *vertex.Options) { o.Endpoint = url }), hello(), stream)
				if e := failed(t, err, c.kind); e.Status != c.status || e.NotSent {
					t.Errorf("got status %d, not sent %v", e.Status, e.NotSent)
				}
			})
		})
	}
}

func TestMessagesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		s := serve(t, answers(chunk(stop, text(strings.Repeat("x", 33<<20)))))
		_, _, err := ask(t, s.provider(t), hello(), stream)
		if e := failed(t, err, llm.ErrBadOutput); e.Code != "answer_too_large" || e.Status != 200 {
			t.Errorf("got %+v", e)
		}
		s = serve(t, answers(chunk(stop, text("hi"))), grpc.MaxRecvMsgSize(1<<10)) // as a proxy may have it
		req := hello()
		req.System = strings.Repeat("x", 2<<10)
		_, _, err = ask(t, s.provider(t), req, stream)
		if e := failed(t, err, llm.ErrRateLimited); e.Status != 429 { // its code says no more, and its words do not count
			t.Errorf("got %+v", e)
		}
	})
}

func TestMessagesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body         string
		unary, event string // codes
	}{
		"nothing":      {"", "empty_body", "no_end_mark"},
		"no message":   {"\x00\x00\x00\x00\x02\xff\xff", "malformed_answer", "malformed_answer"},
		"half a frame": {"\x00\x00\x00\x01\x02hi", "body_cut", "stream_cut"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := overHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
				_, _ = io.WriteString(w, c.body)
			})
			p := new(server).provider(t, func(o *vertex.Options) { o.Endpoint = url })
			for want, stream := range map[string]bool{c.unary: false, c.event: true} {
				_, _, err := ask(t, p, hello(), stream)
				if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != want || e.Status != 200 || e.NotSent {
					t.Errorf("stream %v: want %s, got %+v", stream, want, e)
				}
			}
		})
	}
}

// overHTTP2 serves HTTP/2 without TLS, as gRPC has it, and returns the address.
func overHTTP2(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	t.Parallel()
	tokens := []string{"old", "new", "newer"}
	s := serve(t, func(c *call) error {
		md, _ := metadata.FromIncomingContext(c.ctx)
		if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer new" {
			return status.Error(codes.Unauthenticated, "expired")
		}
		return c.send(chunk(stop, text("hi")))
	})
	asked := 0
	p := s.provider(t, func(o *vertex.Options) {
		o.TokenSource = func(context.Context) (string, error) { asked++; return tokens[asked-1], nil }
	})
	if _, resp, err := ask(t, p, hello(), true); err != nil || resp.Text() != "hi" || asked != 2 {
		t.Errorf("got %v after %d tokens", err, asked)
	}
}
