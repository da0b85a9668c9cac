package conformance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// failure is what a provider answers in place of an answer, and the rule of how that is to be read.
type failure struct {
	name     string
	err      llm.Error
	sentence string
}

func failures() []failure {
	return []failure{
		{"fails_invalid", llm.Error{Kind: llm.ErrInvalid, Status: 400}, "A request that the provider refuses is ErrInvalid."},
		{
			"fails_context_too_long",
			llm.Error{Kind: llm.ErrContextTooLong, Status: 400, Code: "context_length_exceeded"},
			"A request longer than the model's window is ErrContextTooLong.",
		},
		{
			"fails_content_filtered",
			llm.Error{Kind: llm.ErrContentFiltered, Status: 400, Code: "content_filter"},
			"What the provider filtered is ErrContentFiltered.",
		},
		{"fails_auth", llm.Error{Kind: llm.ErrAuth, Status: 401}, "A refused credential is ErrAuth."},
		{"fails_not_found", llm.Error{Kind: llm.ErrNotFound, Status: 404}, "A model that is not there is ErrNotFound."},
		{"fails_rate_limited", llm.Error{Kind: llm.ErrRateLimited, Status: 429}, "Too many requests for now is ErrRateLimited."},
		{"fails_unavailable_500", llm.Error{Kind: llm.ErrUnavailable, Status: 500}, "A failure inside the provider is ErrUnavailable."},
		{"fails_unavailable_503", llm.Error{Kind: llm.ErrUnavailable, Status: 503}, "A provider that is overloaded is ErrUnavailable."},
		{
			"fails_timeout",
			llm.Error{Kind: llm.ErrTimeout, Status: 504},
			"A time limit of the provider is ErrTimeout, never ErrDeadlineExceeded, which is the caller's.",
		},
	}
}

func failureCases() []testCase {
	all := []testCase{
		{"error_status", "An error has the HTTP status that the provider answered with.", errorStatus},
		{"error_retry_after", "An error has the wait that the provider asked for.", errorRetryAfter},
		{"error_type", "Every error but the sink's is an *llm.Error.", errorType},
		{"error_sent", "An error after the request was sent does not say NotSent.", errorSent},
		{
			"error_text", "The text of an error, and its JSON, hold no prompt, no answer, no credential and no words of the provider.",
			errorText,
		},
	}
	for _, f := range failures() {
		all = append(all, testCase{f.name, f.sentence, func(c *check) {
			g := c.open(llmtest.Fail(&f.err))
			c.each(func(m mode) {
				if _, _, err := c.fails(g, hello(), m); llm.KindOf(err) != f.err.Kind {
					c.Errorf("%s: want %s, got %s: %v", m, f.err.Kind, llm.KindOf(err), err)
				}
			})
		}})
	}
	return all
}

// unavailable is the plainest failure.
func unavailable() llmtest.Step {
	return llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503})
}

// wantError finds the *llm.Error, or reports that there is none.
func (c *check) wantError(m mode, err error) (e *llm.Error, ok bool) {
	c.Helper()
	e, ok = errors.AsType[*llm.Error](err)
	if !ok {
		c.Errorf("%s: want an *llm.Error, got %T: %v", m, err, err)
	}
	return e, ok
}

func errorStatus(c *check) {
	for _, f := range failures() {
		g := c.open(llmtest.Fail(&f.err))
		c.each(func(m mode) {
			_, _, err := c.fails(g, hello(), m)
			if e, ok := c.wantError(m, err); ok && e.Status != f.err.Status {
				c.Errorf("%s: want status %d, got %d: %v", m, f.err.Status, e.Status, err)
			}
		})
	}
}

func errorRetryAfter(c *check) {
	g := c.open(llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimited, Status: 429, RetryAfter: 7 * time.Second}))
	c.each(func(m mode) {
		_, _, err := c.fails(g, hello(), m)
		if e, ok := c.wantError(m, err); ok && e.RetryAfter != 7*time.Second {
			c.Errorf("%s: want a wait of 7s, got %v: %v", m, e.RetryAfter, err)
		}
	})
}

func errorType(c *check) {
	c.each(func(m mode) {
		for _, step := range []llmtest.Step{
			unavailable(), llmtest.Cut("one two"), failsAt(llmtest.PhaseStream),
		} {
			_, _, err := c.generate(c.ctx, c.open(step), hello(), m)
			if err != nil {
				_, _ = c.wantError(m, err)
			}
		}
		ctx, stop, _ := cancels().begin(c.ctx)
		defer stop()
		_, _, err := c.generate(ctx, c.open(llmtest.Hang()), hello(), m)
		if err != nil {
			_, _ = c.wantError(m, err)
		}
	})
}

func errorSent(c *check) {
	for _, step := range []llmtest.Step{
		unavailable(), failsAt(llmtest.PhaseFirst), failsAt(llmtest.PhaseStream), llmtest.Cut("one two"),
	} {
		c.each(func(m mode) {
			_, _, err := c.generate(c.ctx, c.open(step), hello(), m)
			if e, ok := errors.AsType[*llm.Error](err); ok && e.NotSent {
				c.Errorf("%s: the provider had the request, and the error says NotSent: %v", m, err)
			}
		})
	}
}

// errorText plants words where an error might pick them up, and looks for them in every form of an error that
// may end up in a log.
func errorText(c *check) {
	const prompt, answer, secret = "canary-prompt", "canary-answer", "canary-sk-4711"
	req := hello()
	req.System = "Never say " + prompt
	req.Messages = append(req.Messages, llm.User("My key is "+secret+", my word "+prompt))
	echo := "refused " + secret + " and " + prompt + " and " + answer
	after := failsAt(llmtest.PhaseEnd)
	after.Response = llmtest.Text(answer + " is my answer ").Response
	for _, step := range []llmtest.Step{
		llmtest.Fail(&llm.Error{Kind: llm.ErrAuth, Status: 401, Message: echo}),
		llmtest.Fail(&llm.Error{Kind: llm.ErrInvalid, Status: 400, Message: echo}),
		llmtest.Fail(&llm.Error{Kind: llm.ErrUnavailable, Status: 503, Message: echo}),
		llmtest.Cut(answer + " is cut "),
		after,
	} {
		c.each(func(m mode) {
			_, _, err := c.generate(c.ctx, c.open(step), req, m)
			if err == nil {
				return
			}
			for form, text := range map[string]string{
				"Error()": err.Error(), "%v": fmt.Sprintf("%v", err), "%s": fmt.Sprintf("%s", err), "JSON": asJSON(err),
			} {
				if strings.Contains(text, "canary") {
					c.Errorf("%s: %s of a %s gives away %q", m, form, llm.KindOf(err), text)
				}
			}
		})
	}
}
