package deadlines_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// margin is what the agent keeps of its window.
const margin = time.Second

// The statuses of the agent.
const (
	statusBroken   = 1
	statusTooLate  = 75 // it ended by itself, when its time was up
	statusAnswered = 0
)

// agent is a whole program: it asks two things and keeps a log, in a buffer, as programs do. The one line that knows
// of a window is that with FromEnv, which does nothing where the platform does not set the variable.
func agent(stream bool) int {
	file, err := os.Create(os.Getenv("AGENT_LOG"))
	if err != nil {
		return statusBroken
	}
	log := bufio.NewWriter(file)
	defer func() { _ = log.Flush(); _ = file.Close() }()
	client, err := newClient()
	if err != nil {
		return broken(log, err)
	}
	fmt.Println("ready") // the platform's clock starts

	ctx, cancel, err := deadline.FromEnv(context.Background(), &deadline.Options{Margin: margin})
	defer cancel()
	if err != nil {
		return broken(log, err)
	}
	for _, question := range []string{"first", "second"} {
		_, _ = fmt.Fprintf(log, "asking the %s\n", question)
		err := ask(ctx, client, question, stream)
		if e, ok := errors.AsType[*deadline.ExceededError](err); ok {
			_, _ = fmt.Fprint(log, "the end: ")
			_ = json.NewEncoder(log).Encode(e)
			return statusTooLate
		}
		if err != nil {
			return broken(log, err)
		}
		_, _ = fmt.Fprintf(log, "answered the %s\n", question)
	}
	return statusAnswered
}

func broken(log *bufio.Writer, err error) int {
	_, _ = fmt.Fprintln(log, "broken:", err)
	return statusBroken
}

func newClient() (*llm.Client, error) {
	provider, err := azure.New(&azure.Options{Endpoint: os.Getenv("AZURE_OPENAI_ENDPOINT"), Deployment: "gpt-4o", Key: "key"})
	if err != nil {
		return nil, err
	}
	return fallback.NewClient([]fallback.Target{{Name: "azure", Generator: provider, Prompt: true}}, nil)
}

// ask makes one call, whole or streamed.
func ask(ctx context.Context, client *llm.Client, question string, stream bool) error {
	req := &llm.Request{Messages: []llm.Message{llm.User(question)}, Limits: llm.Limits{Attempt: time.Minute}}
	if !stream {
		_, err := client.Generate(ctx, req)
		return err
	}
	_, err := client.Stream(ctx, req).Response()
	return err
}
