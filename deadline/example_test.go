package deadline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// A loop that asks before each round stops by itself, with time left to say so.
func ExampleCheck() {
	ctx, cancel := deadline.With(context.Background(), 2*time.Second, &deadline.Options{
		FailFast: 1950 * time.Millisecond,
	})
	defer cancel()

	tick := time.NewTicker(time.Millisecond) // stands for the work
	defer tick.Stop()
	for {
		if err := deadline.Check(ctx); err != nil {
			exceeded, _ := errors.AsType[*deadline.ExceededError](err)
			fmt.Println("stopped:", errors.Is(err, context.DeadlineExceeded), exceeded.Total)
			fmt.Println("still running:", ctx.Err() == nil)
			return
		}
		<-tick.C
	}
	// Output:
	// stopped: true 2s
	// still running: true
}

// The clock is started once, in main, by what the platform allows.
func ExampleFromEnv() {
	ctx, cancel, err := deadline.FromEnv(context.Background(), &deadline.Options{Margin: 5 * time.Second})
	defer cancel()
	if err != nil {
		fmt.Println(err)
		return
	}
	left, limited := deadline.Remaining(ctx)
	fmt.Println(left, limited) // here the variable is not set
	// Output: 0s false
}

// A step ends at its cap, and early enough to leave the reserve to what comes after it.
func ExampleStep() {
	ctx, cancel := deadline.With(context.Background(), time.Minute, &deadline.Options{
		Caps: map[string]time.Duration{"plan": 20 * time.Second, "act": 50 * time.Second},
	})
	defer cancel()
	for _, name := range []string{"plan", "act", "atc"} {
		step, done, err := deadline.Step(ctx, name, 15*time.Second)
		if err != nil {
			fmt.Println(err)
			continue
		}
		left, _ := deadline.Remaining(step)
		fmt.Println(name, left.Round(time.Second))
		done()
	}
	// Output:
	// plan 20s
	// act 45s
	// deadline: step "atc" is unknown: Options.Caps has act, plan
}

// Three steps in a row: what one does not use goes to the others.
func ExampleShare() {
	ctx, cancel := deadline.With(context.Background(), time.Minute, nil)
	defer cancel()
	for steps := 3; steps > 0; steps-- {
		fmt.Println(deadline.Share(ctx, steps).Round(time.Second))
	}
	// Output:
	// 20s
	// 30s
	// 1m0s
}

// What must not be lost is flushed when the warning comes.
func ExampleWarned() {
	ctx, cancel := deadline.With(context.Background(), 2*time.Second, &deadline.Options{
		Warn: 1950 * time.Millisecond,
	})
	defer cancel()
	answer := make(chan string) // of a call that hangs
	select {
	case <-answer:
	case <-deadline.Warned(ctx):
		fmt.Println("flush; still running:", ctx.Err() == nil)
	}
	// Output: flush; still running: true
}

// A gateway with a header of its own is told what is left, at most what is configured.
func ExampleHeader_Set() {
	gateway := &deadline.Header{Name: "X-Gateway-Timeout-Seconds", Unit: time.Second, Max: 895 * time.Second}
	for _, total := range []time.Duration{20 * time.Minute, 42700 * time.Millisecond, 900 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), total)
		header := make(http.Header)
		gateway.Set(ctx, header)
		fmt.Println(header)
		cancel()
	}
	// Output:
	// map[X-Gateway-Timeout-Seconds:[895]]
	// map[X-Gateway-Timeout-Seconds:[42]]
	// map[]
}

// A service that is told how long its caller waits, and a client that tells it.
func ExampleMiddleware() {
	h := &deadline.Header{Hop: 50 * time.Millisecond}
	service := httptest.NewServer(deadline.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left, _ := deadline.Remaining(r.Context())
		fmt.Fprintln(w, left < 10*time.Second-h.Hop, left > 8*time.Second)
	}), h))
	defer service.Close()

	ctx, cancel := deadline.With(context.Background(), 10*time.Second, nil)
	defer cancel()
	client := &http.Client{Transport: deadline.Transport(service.Client().Transport, h)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL, http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	var less, much bool
	_, err = fmt.Fscan(resp.Body, &less, &much)
	fmt.Println(resp.StatusCode, less, much, err)
	// Output: 200 true true <nil>
}

// The error keeps its type and figures on the way to another process.
func ExampleExceededError() {
	text, err := json.Marshal(&deadline.ExceededError{Total: 30 * time.Second, Elapsed: 27500 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
	var back deadline.ExceededError
	if err := json.Unmarshal(text, &back); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(&back)
	// Output:
	// {"code":"EXECUTION_DEADLINE_EXCEEDED","total":"30s","elapsed":"27.5s"}
	// deadline: execution deadline exceeded (27.5s of 30s used)
}
