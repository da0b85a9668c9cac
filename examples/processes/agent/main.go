// Command agent has the tool service at TOOLS summarise each of its arguments, and prints what it got. The platform it
// runs on kills it after LLM_EXECUTION_TIME_LIMIT_SECONDS: it ends before that, with what it has until then.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit status: 75 when the time was up.
func run(texts []string) int {
	ctx, cancel, err := deadline.FromEnv(context.Background(), &deadline.Options{Margin: time.Second})
	defer cancel()
	client := &http.Client{Transport: deadline.Transport(nil, &deadline.Header{Hop: 100 * time.Millisecond})}
	for i := 0; i < len(texts) && err == nil; i++ {
		share, done := context.WithTimeout(ctx, deadline.Share(ctx, len(texts)-i)) // what one leaves goes to the others
		var summary string
		if summary, err = ask(share, client, texts[i]); err == nil {
			fmt.Printf("%d: %s", i+1, summary)
		}
		done()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		log.Printf("the time is up, %v of it left for this line: %v", time.Second, err)
		return 75
	case err != nil:
		log.Print(err)
		return 1
	}
	return 0
}

// ask makes one call of the tool service.
func ask(ctx context.Context, client *http.Client, text string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("TOOLS"), strings.NewReader(text))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err == nil && resp.StatusCode == http.StatusGatewayTimeout:
		err = fmt.Errorf("the tool service: %s: %w", strings.TrimSpace(string(body)), context.DeadlineExceeded)
	case err == nil && resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("the tool service answered %s", resp.Status)
	}
	return string(body), err
}
