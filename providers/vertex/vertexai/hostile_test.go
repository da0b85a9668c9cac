package vertexai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// forever sends the same event until the client goes.
func forever(m *message) func(*call) error {
	return func(c *call) error {
		for {
			if err := c.send(m); err != nil {
				return err
			}
		}
	}
}

func TestAnEndlessStreamIsCutAtItsBound(t *testing.T) {
	t.Parallel()
	called := &pbPart{Data: &aiplatformpb.Part_FunctionCall{FunctionCall: &aiplatformpb.FunctionCall{Name: "f"}}}
	for name, c := range map[string]struct {
		m    *message
		code string
	}{
		"text":                {chunk(none, text(strings.Repeat("x", 1<<20))), "answer_too_large"},
		"text with an end":    {chunk(stop, text(strings.Repeat("x", 1<<20))), "answer_too_large"},
		"calls":               {chunk(none, called), "too_many_tool_calls"},
		"too many parts once": {chunk(none, make([]*pbPart, 1<<16+1)...), "answer_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if adaptertest.RaceEnabled && c.code == "answer_too_large" {
				t.Skip("a megabyte takes so long with the race detector that a stream which could end is left")
			}
			for i, p := range c.m.Candidates[0].Content.Parts {
				if p == nil {
					c.m.Candidates[0].Content.Parts[i] = new(pbPart)
				}
			}
			_, resp, err := ask(t, serve(t, forever(c.m)).provider(t), hello(), true)
			if e := failed(t, err, llm.ErrBadOutput); e.Code != c.code || e.Partial != resp || e.Status != 200 {
				t.Errorf("%s, %v", e.Code, e)
			}
		})
	}
}

// An error is read as far as over REST.
func TestALongErrorIsReadAsFarAsAnErrorBody(t *testing.T) {
	t.Parallel()
	details := make([]protoadapt.MessageV1, 3000)
	for i := range details {
		details[i] = &errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED", Domain: strings.Repeat("d", 100)}
	}
	for name, c := range map[string]struct {
		f    fault
		code string
		kind llm.Kind
	}{
		"details":   {fault{codes.ResourceExhausted, "m", details}, "RESOURCE_EXHAUSTED", llm.ErrRateLimited},
		"a message": {fault{codes.ResourceExhausted, strings.Repeat("m", 500<<10), nil}, "RESOURCE_EXHAUSTED", llm.ErrRateLimited},
		"too long":  {fault{codes.ResourceExhausted, strings.Repeat("m", 2<<20), nil}, "", llm.ErrConnection},
	} {
		s := serve(t, func(*call) error { return c.f.status(t).Err() })
		_, _, err := ask(t, s.provider(t), hello(), false)
		if e := failed(t, err, c.kind); e.Code != c.code || len(e.Message) > 512 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestNoWordOfTheServiceRepeatsTheToken(t *testing.T) {
	t.Parallel()
	const secret = "ya29.CANARY-0123456789-abcdefgh"
	for name, handle := range map[string]func(*call) error{
		"an error": func(c *call) error {
			st, _ := status.New(codes.PermissionDenied, "no such token: "+secret).WithDetails(
				&errdetails.RequestInfo{RequestId: secret}, &errdetails.ErrorInfo{Reason: secret})
			return st.Err()
		},
		"an answer": answers(&message{ResponseId: secret, ModelVersion: secret, Candidates: []*aiplatformpb.Candidate{{FinishReason: stop, FinishMessage: new(secret)}}}),
	} {
		both(t, func(t *testing.T, stream bool) {
			t.Helper()
			p := serve(t, handle).provider(t, func(o *vertex.Options) {
				o.TokenSource = func(context.Context) (string, error) { return secret, nil }
			})
			_, _, err := ask(t, p, hello(), stream)
			e := failed(t, err, llm.KindOf(err))
			asJSON, _ := json.Marshal(e)
			partial, _ := json.Marshal(e.Partial)
			if text := fmt.Sprintf("%+v %s %s %s %v %+v %#v", e, asJSON, partial, e.Message, e.Err, e.Err, e.Err); strings.Contains(text, "CANARY") {
				t.Errorf("%s: %s", name, text)
			}
		})
	}
}

// What the engine cannot carry is said before a token is asked for, which may take long or fail.
func TestNoTokenIsAskedForARequestThatCannotBeCarried(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		asked := 0
		s := serve(t, answers(counted(chunk(stop, text("hi")))))
		p := s.provider(t, func(o *vertex.Options) {
			o.Model = "gemini-3-pro-preview"
			o.TokenSource = func(context.Context) (string, error) { asked++; return "t", nil }
		})
		req := hello()
		req.Thinking.Effort = "high"
		_, _, err := ask(t, p, req, stream)
		if e := failed(t, err, llm.ErrUnsupported); !e.NotSent || e.Model.Model != "gemini-3-pro-preview" || asked != 0 || len(s.requests()) != 0 {
			t.Errorf("%d tokens, %d requests: %+v", asked, len(s.requests()), e)
		}
		if _, _, err := ask(t, p, hello(), stream); err != nil || asked != 1 {
			t.Errorf("%d tokens, %v", asked, err)
		}
	})
}

func TestBehindAFinishReasonNothingIsWaitedForLong(t *testing.T) {
	t.Parallel()
	hold := func(all ...*message) func(*call) error {
		return func(c *call) error { _ = c.send(all...); return c.hang() }
	}
	bare := chunk(stop)
	for name, c := range map[string]struct {
		handle      func(*call) error
		kind        llm.Kind
		limit, most time.Duration // most is far from what it takes, and from the limit
	}{
		"the deadline is near": {hold(chunk(none, text("a")), bare), "", 4 * time.Second, 3500 * time.Millisecond},
		"counted":              {hold(chunk(none, text("a")), counted(chunk(stop))), "", 20 * time.Second, 10 * time.Second},
		"events that trickle":  {func(c *call) error { _ = c.send(chunk(none, text("a")), bare); return forever(new(message))(c) }, "", 20 * time.Second, 10 * time.Second},
		"content, and no end":  {hold(chunk(none, text("a")), bare, chunk(none, text("b"))), llm.ErrDeadlineExceeded, time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, c.handle).provider(t)
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			start := time.Now()
			resp, err := p.Generate(ctx, hello(), func(llm.Event) error { return nil })
			if llm.KindOf(err) != c.kind || !strings.HasPrefix(resp.Text(), "a") || time.Since(start) > c.most {
				t.Errorf("%v after %v, %+v", err, time.Since(start), resp)
			}
		})
	}
}
