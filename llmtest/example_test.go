package llmtest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// A script has one step a call; the last step repeats. In a test, run it inside testing/synctest, and waits of
// minutes take no time: synctest.Test needs a *testing.T, so the example waits for a moment in earnest.
func Example() {
	fake := llmtest.New(
		llmtest.Hang(), // call 1: nothing comes until the context ends
		llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 2 * time.Second}),
		llmtest.Text("Your invoice is corrected."),
	)
	client := llm.NewClient(fake, nil)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		resp, err := client.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("My invoice is wrong.")}})
		cancel()
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(resp.Text())
	}
	fmt.Println(len(fake.Requests()), "requests")
	// Output:
	// llm: deadline_exceeded
	// llm: rate_limited (429, retry after 2s)
	// Your invoice is corrected.
	// 3 requests
}

// A stream that breaks off gives an error and what had arrived.
func ExampleCut() {
	fake := llmtest.New(llmtest.Cut("Once upon a"))
	resp, err := fake.Generate(context.Background(), &llm.Request{}, func(e llm.Event) error {
		fmt.Printf("%q\n", e.Delta)
		return nil
	})
	fmt.Printf("%v, with %q\n", err, resp.Text())
	// Output:
	// "Once "
	// "upon "
	// "a"
	// llm: interrupted (cut), with "Once upon a"
}

// Steps are shaped by methods and fields.
func ExampleStep() {
	slow := llmtest.Text("one two").After(2 * time.Millisecond).Every(time.Millisecond).Times(3)
	broken := llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503})
	broken.Phase = llmtest.PhaseStream // after the first content
	fmt.Println(slow.Delay, slow.Gap, slow.Count, broken.Phase)
	// Output: 2ms 1ms 3 stream
}

// A test of an agent in virtual time: the minutes that the provider takes pass in an instant.
func TestAnAgentInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := llmtest.New(
			llmtest.Calls( // two calls in one turn
				llm.ToolCall{ID: "1", Name: "weather", Arguments: `{"city": "Paris"}`},
				llm.ToolCall{ID: "2", Name: "weather", Arguments: `{"city": "Rome"}`},
			).After(2*time.Minute),
			llmtest.Text("Rome is warmer."),
			llmtest.Hang(),
		)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		start := time.Now()

		answer, err := agent(ctx, llm.NewClient(fake, nil), "Paris or Rome?")
		if err != nil || answer != "Rome is warmer." {
			t.Errorf("got %q, %v", answer, err)
		}
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		if last := fake.Requests()[1].Messages; len(last) != 3 || len(last[2].Parts) != 2 {
			t.Errorf("the second request has not both results: %+v", last)
		}

		_, err = agent(ctx, llm.NewClient(fake, nil), "And tomorrow?") // nothing comes
		if took := time.Since(start); llm.KindOf(err) != llm.ErrDeadlineExceeded || took != 5*time.Minute {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// agent is what is tested: a loop that runs tools until there is an answer.
func agent(ctx context.Context, client *llm.Client, question string) (string, error) {
	req := &llm.Request{Tools: []llm.Tool{{Name: "weather"}}, Messages: []llm.Message{llm.User(question)}}
	for {
		resp, err := client.Generate(ctx, req)
		if err != nil {
			return "", err
		}
		calls := resp.Message.ToolCalls()
		if len(calls) == 0 {
			return resp.Text(), nil
		}
		results := make([]llm.ToolResult, len(calls))
		for i, call := range calls {
			results[i] = call.Result("22 degrees")
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
	}
}
