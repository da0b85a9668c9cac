package llmtest_test

import (
	"context"
	"fmt"
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
