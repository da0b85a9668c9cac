package providers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
)

// A server that answers at the first byte of a request makes the bare SDK lose streams: smithy closes the body of the
// request when the response begins, the transport takes that for a failed write and closes the connection. The body
// shield of internal/httpx is there against it.

// The size of the test. Short answers make the most of it: the defect is one of the first moments.
const (
	shieldRuns    = 3
	shieldStreams = 2000
	bareRuns      = 200 // at the most
	bareStreams   = 200
	atOnce        = 8
	shortAnswer   = "one two three four five"
)

// early starts a server that answers before it has read the request. The request is of some size, as prompts are.
func early(t *testing.T) *bedrockcloud.Server {
	t.Helper()
	s := bedrockcloud.StartOptions(&bedrockcloud.Options{
		Early: true, Script: []bedrockcloud.Turn{{Step: llmtest.Text(shortAnswer)}},
	})
	t.Cleanup(s.Close)
	return s
}

var longPrompt = strings.Repeat("a prompt ", 1<<10)

// lost makes n streams, some at once, and counts those that fail.
func lost(n int, one func() error) (failed int64, example error) {
	var count atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			for j := i; j < n; j += atOnce {
				if err := one(); err != nil {
					count.Add(1)
					mu.Lock()
					example = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return count.Load(), example
}

func TestNoBedrockStreamIsLostToAnEarlyAnswer(t *testing.T) {
	p := bedrockOnServer(t, early(t))
	req := &llm.Request{Messages: []llm.Message{llm.User(longPrompt)}}
	runs, streams := shieldRuns, shieldStreams
	if adaptertest.RaceEnabled || !adaptertest.Full() { // the detector makes it thirty times as slow
		runs, streams = 1, 300
	}
	for run := range runs {
		n, example := lost(streams, func() error {
			resp, err := p.Generate(t.Context(), req, func(llm.Event) error { return nil })
			if err == nil && resp.Text() != shortAnswer {
				err = fmt.Errorf("the answer is %d letters long", len(resp.Text()))
			}
			return err
		})
		t.Logf("run %d: %d of %d streams lost", run+1, n, streams)
		if n > 0 {
			t.Errorf("%d of %d streams were lost: %+v", n, streams, example)
		}
	}
}

// The same without the shield must lose some, or the test above proves nothing. It stops at the first run that does.
func TestWithoutTheShieldStreamsAreLost(t *testing.T) {
	if adaptertest.RaceEnabled {
		t.Skip("skipped: the defect of the SDK that this test shows is a data race, which the detector reports")
	}
	transport := httpx.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	client := bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", Credentials: signing, Retryer: aws.NopRetryer{}, BaseEndpoint: aws.String(early(t).URL),
		HTTPClient: httpDoer(transport.RoundTrip),
	})
	for run := range bareRuns {
		n, example := lost(bareStreams, func() error { return bareStream(t.Context(), client) })
		t.Logf("run %d: %d of %d streams lost, for example %v", run+1, n, bareStreams, example)
		if n > 0 {
			return
		}
	}
	t.Errorf("no stream was lost without the shield")
}

func bareStream(ctx context.Context, client *bedrockruntime.Client) error {
	out, err := client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{
		ModelId: aws.String(claudeProfile), Messages: []types.Message{{
			Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: longPrompt}},
		}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = out.GetStream().Close() }()
	ended := false
	for e := range out.GetStream().Events() {
		if _, ok := e.(*types.ConverseStreamOutputMemberMetadata); ok {
			ended = true
		}
	}
	if err := out.GetStream().Err(); err != nil {
		return err
	}
	if !ended {
		return errors.New("the stream has no end")
	}
	return nil
}

// httpDoer is a client of the SDK.
type httpDoer func(*http.Request) (*http.Response, error)

func (f httpDoer) Do(req *http.Request) (*http.Response, error) { return f(req) }
