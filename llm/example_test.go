package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// echo is a provider in ten lines: it answers with the last message, word by word.
func echo(_ context.Context, req *llm.Request, sink llm.Sink) (*llm.Response, error) {
	var a llm.Accumulator
	for word := range strings.SplitAfterSeq(req.Messages[len(req.Messages)-1].Text(), " ") {
		e := llm.Event{Kind: llm.EventText, Delta: word}
		if sink != nil {
			if err := sink(e); err != nil {
				return a.Partial(), err
			}
		}
		a.Add(e)
	}
	resp := a.Response()
	resp.Finish = llm.FinishStop
	return resp, nil
}

// busy is a provider that is throttled.
func busy(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
	return nil, &llm.Error{Kind: llm.ErrRateLimited, Target: "azure-eu", Status: 429, RetryAfter: 6 * time.Second}
}

func ExampleClient_Generate() {
	client := llm.NewClient(llm.GeneratorFunc(echo), nil)
	resp, err := client.Generate(context.Background(), &llm.Request{
		Operation: llm.Triage,
		System:    "Answer urgent, normal or spam.",
		Messages:  []llm.Message{llm.User("My invoice is wrong.")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text(), resp.Finish)
	// Output: My invoice is wrong. stop
}

func ExampleClient_Stream() {
	client := llm.NewClient(llm.GeneratorFunc(echo), nil)
	stream := client.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.User("one two three")}})
	for text, err := range stream.Text() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("[%s]", text)
	}
	resp, err := stream.Response()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Finish)
	// Output: [one ][two ][three]stop
}

func ExampleStream_Events() {
	client := llm.NewClient(llm.GeneratorFunc(echo), nil)
	stream := client.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.User("one two three")}})
	for event, err := range stream.Events() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", event.Kind, event.Delta)
		break // leaving the loop stops the call
	}
	_, err := stream.Response()
	fmt.Println(err)
	// Output:
	// text "one "
	// llm: canceled (reader_left)
}

func ExampleKindOf() {
	client := llm.NewClient(llm.GeneratorFunc(busy), nil)
	_, err := client.Generate(context.Background(), &llm.Request{Messages: []llm.Message{llm.User("hi")}})
	switch llm.KindOf(err) {
	case "":
		fmt.Println(200)
	case llm.ErrTimeout, llm.ErrDeadlineExceeded:
		fmt.Println(http.StatusGatewayTimeout)
	case llm.ErrRateLimited, llm.ErrUnavailable:
		fmt.Println(http.StatusServiceUnavailable)
	default:
		fmt.Println(http.StatusBadGateway)
	}
	// Output: 503
}

func ExampleError() {
	client := llm.NewClient(llm.GeneratorFunc(busy), nil)
	_, err := client.Generate(context.Background(), &llm.Request{
		Operation: llm.Triage, Messages: []llm.Message{llm.User("hi")},
	})
	fmt.Println(err) // safe to log
	if errors.Is(err, llm.ErrRateLimited) {
		fmt.Println("throttled")
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		fmt.Println("try again after", e.RetryAfter)
	}
	// Output:
	// llm: triage: azure-eu: rate_limited (429, retry after 6s)
	// throttled
	// try again after 6s
}

func ExampleToolCall_Decode() {
	var args struct {
		City string `json:"city"`
	}
	call := llm.ToolCall{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}
	fmt.Println(call.Decode(&args), args.City)

	cut := llm.ToolCall{ID: "call_2", Name: "weather", Arguments: `{"city":"Be`} // the answer ended at MaxTokens
	err := cut.Decode(&args)
	fmt.Println(errors.Is(err, llm.ErrBadOutput))
	// Output:
	// <nil> Bern
	// true
}

func ExampleToolResults() {
	answer := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{
		llm.ToolCall{ID: "1", Name: "weather", Arguments: `{"city":"Bern"}`},
		llm.ToolCall{ID: "2", Name: "weather", Arguments: `{"city":"Rome"}`},
	}}
	var results []llm.ToolResult
	for _, call := range answer.ToolCalls() {
		results = append(results, llm.ToolResult{CallID: call.ID, Parts: llm.Parts{llm.Text{Text: "sunny"}}})
	}
	next := llm.ToolResults(results...) // all of a turn in one message
	fmt.Println(next.Role, len(next.Parts))
	// Output: tool 2
}

func ExampleWithObserver() {
	ctx := llm.WithObserver(context.Background(), &llm.Observer{
		CallStart: func(ctx context.Context, req *llm.Request) context.Context {
			fmt.Println("start", req.Operation)
			return ctx
		},
		CallEnd: func(_ context.Context, _ *llm.Response, err error) { fmt.Println("end", llm.KindOf(err)) },
	})
	client := llm.NewClient(llm.GeneratorFunc(busy), nil)
	_, err := client.Generate(ctx, &llm.Request{Operation: llm.Triage, Messages: []llm.Message{llm.User("hi")}})
	fmt.Println(err != nil)
	// Output:
	// start triage
	// end rate_limited
	// true
}

func ExampleHTTPError() {
	header := http.Header{"Retry-After": {"6"}, "Apim-Request-Id": {"5dbe34e9"}}
	body := []byte(`{"error":{"code":"429","message":"Requests have exceeded call rate limit."}}`)
	e := llm.HTTPError(http.StatusTooManyRequests, header, body)
	fmt.Println(e.Kind, e.RetryAfter, e.RequestID)
	fmt.Println(e)
	fmt.Println(e.Detail()) // the provider's words: for a person, not for the log
	// Output:
	// rate_limited 6s 5dbe34e9
	// llm: rate_limited (429, retry after 6s)
	// 429: Requests have exceeded call rate limit.
}

func ExampleAccumulator() {
	var a llm.Accumulator
	a.Add(llm.Event{Kind: llm.EventText, Index: 0, Delta: "It is "})
	a.Add(llm.Event{Kind: llm.EventToolCall, Index: 1, ID: "1", Name: "weather"})
	a.Add(llm.Event{Kind: llm.EventToolArguments, Index: 1, Delta: `{"city":"Be`})
	a.Add(llm.Event{Kind: llm.EventText, Index: 0, Delta: "sunny"})
	fmt.Println(a.Response().Text(), len(a.Response().Message.ToolCalls()))
	fmt.Println(a.Partial().Text(), len(a.Partial().Message.ToolCalls())) // nobody may run half a call
	// Output:
	// It is sunny 1
	// It is sunny 0
}

func ExampleDetached() {
	hung := make(chan struct{})
	defer close(hung)
	deaf := llm.GeneratorFunc(func(context.Context, *llm.Request, llm.Sink) (*llm.Response, error) {
		<-hung // it does not look at its context
		return &llm.Response{}, nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := llm.NewClient(llm.Detached(deaf), nil).Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// The trail of an answer, or of an error, prints as lines that may be logged.
func ExampleAttempt() {
	resp := &llm.Response{Attempts: []llm.Attempt{
		{Target: "azure", Kind: llm.ErrTimeout, Bound: llm.BoundAttempt, Limit: 30 * time.Second, Took: 30 * time.Second},
		{Target: "vertex", Limit: 30 * time.Second, Took: 400 * time.Millisecond},
	}}
	for _, a := range resp.Attempts {
		fmt.Println(a)
	}
	// Output:
	// azure: timeout (attempt) after 30s of 30s
	// vertex: answered after 400ms of 30s
}

// A picture and a document are parts beside the text, told apart by their media type.
func ExampleMedia() {
	picture, document := []byte("\x89PNG..."), []byte("%PDF-1.7...")
	message := llm.Message{Role: llm.RoleUser, Parts: llm.Parts{
		llm.Text{Text: "Does the invoice fit the photograph?"},
		llm.Media{MediaType: "image/png", Data: picture},
		llm.Media{MediaType: "application/pdf", Name: "invoice", Data: document},
	}}
	fmt.Println(len(message.Parts), "parts:", message.Text())
	// Output: 3 parts: Does the invoice fit the photograph?
}

// JSON as output.
func ExampleSchema() {
	client := llm.NewClient(llm.GeneratorFunc(urgent), nil)
	resp, err := client.Generate(context.Background(), &llm.Request{
		Messages: []llm.Message{llm.User("My invoice is wrong.")},
		Output: &llm.Schema{Name: "decision", JSON: json.RawMessage(`{
			"type": "object", "properties": {"label": {"type": "string", "enum": ["urgent", "normal", "spam"]}},
			"required": ["label"], "additionalProperties": false}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var decision struct{ Label string }
	if err := json.Unmarshal([]byte(resp.Text()), &decision); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decision.Label)
	// Output: urgent
}

// urgent is a provider that answers as the schema of the example wants.
func urgent(ctx context.Context, _ *llm.Request, sink llm.Sink) (*llm.Response, error) {
	return echo(ctx, &llm.Request{Messages: []llm.Message{llm.User(`{"label": "urgent"}`)}}, sink)
}
