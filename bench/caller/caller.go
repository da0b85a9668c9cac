// Package caller has the rows of the fault tables: each is a way to make one call over three providers.
package caller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/bench/mock"
)

// The knobs of the tables, the same for every row that has them.
const (
	AttemptLimit = time.Second
	FirstBackoff = 50 * time.Millisecond
	OpenFor      = time.Second
	retries      = 1 // a provider
)

// Caller makes calls over its providers.
type Caller interface {
	// Call makes the call of that number. Nil is a right answer.
	Call(ctx context.Context, call int) error
	Close()
}

// New makes a Caller over providers with the given base URLs, the first of them the primary.
type New func(urls []string) (Caller, error)

// Row is a named Caller.
type Row struct {
	Name string
	New  New
	Ours bool
}

// Rows are all rows, in the order of the tables.
func Rows() []Row {
	return []Row{
		{Name: "go-openai", New: newBare},
		{Name: "handrolled", New: newHandrolled},
		{Name: "failsafe", New: newFailsafe},
		{Name: "punctual", New: newPunctual(tableKnobs), Ours: true},
		{Name: "punctual-first", New: newPunctual(firstKnobs), Ours: true},
		{Name: "punctual-hedge", New: newPunctual(hedgeKnobs), Ours: true},
	}
}

var errWrongAnswer = errors.New("caller: the answer is not the mock's")

const model = "mock"

// prompt is about 630 bytes long and says which call it belongs to.
func prompt(call int) string {
	return fmt.Sprintf("%s%d. %s", mock.Marker, call, strings.Repeat("Sort this ticket into one of the queues. ", 15))
}

// provider is one provider behind go-openai, which the rows of others are made of.
type provider struct {
	client *openai.Client
	http   *http.Transport
}

func newProviders(urls []string) []*provider {
	all := make([]*provider, len(urls))
	for i, url := range urls {
		transport := &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, IdleConnTimeout: time.Minute}
		config := openai.DefaultConfig("key")
		config.BaseURL = url
		config.HTTPClient = &http.Client{Transport: noting{transport}}
		all[i] = &provider{client: openai.NewClientWithConfig(config), http: transport}
	}
	return all
}

// ask makes one request.
func (p *provider) ask(ctx context.Context, call int) error {
	resp, err := p.client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model:    model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt(call)}},
	})
	switch {
	case err != nil:
		return err
	case len(resp.Choices) != 1 || resp.Choices[0].Message.Content != mock.Text:
		return errWrongAnswer
	default:
		return nil
	}
}

func closeAll(providers []*provider) {
	for _, p := range providers {
		p.http.CloseIdleConnections()
	}
}

// temporary reports whether a loop of one's own would try again after err.
func temporary(err error) bool {
	status := 0
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		status = e.HTTPStatusCode
	} else if e, ok := errors.AsType[*openai.RequestError](err); ok {
		status = e.HTTPStatusCode
	}
	return status == 0 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500
}

// bare is go-openai as it is: the primary, once.
type bare struct{ providers []*provider }

func newBare(urls []string) (Caller, error) { return &bare{newProviders(urls[:1])}, nil }

func (b *bare) Call(ctx context.Context, call int) error { return b.providers[0].ask(ctx, call) }

func (b *bare) Close() { closeAll(b.providers) }
