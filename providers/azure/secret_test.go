package azure_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

const (
	aKey   = "sk-CANARY-0123456789-abcdefgh"
	aToken = "eyJ-CANARY-0123456789.abcdefgh"
)

// TestNoWordOfAProviderRepeatsTheCredential: codes, ids and categories are logged.
func TestNoWordOfAProviderRepeatsTheCredential(t *testing.T) {
	t.Parallel()
	word := func(secret string) map[string]string {
		return map[string]string{
			"code":       `{"error":{"code":"` + secret + `","message":"m"}}`,
			"type":       `{"error":{"type":"` + secret + `","message":"m"}}`,
			"inside":     `{"error":{"code":"bad-` + secret + `","message":"m"}}`,
			"most of it": `{"error":{"code":"` + secret[:len(secret)-4] + `","message":"m"}}`,
			"message":    `{"error":{"code":"c","message":"no such key: ` + secret + `"}}`,
			"category":   `{"error":{"code":"content_filter","innererror":{"content_filter_result":{"` + secret + `":{"filtered":true}}}}}`,
			"severity":   `{"error":{"code":"content_filter","innererror":{"content_filter_result":{"hate":{"filtered":true,"severity":"` + secret + `"}}}}}`,
			"answer": `{"id":"` + secret + `","model":"` + secret + `","choices":[{"message":{"content":""},"finish_reason":"` + secret +
				`"}],"usage":{"prompt_tokens":1}}`,
		}
	}
	for secret, open := range map[string]func(s *server) *azure.Provider{
		aKey: func(s *server) *azure.Provider {
			return s.provider(t, func(o *azure.CompatibleOptions) { o.Key = aKey })
		},
		aToken: func(s *server) *azure.Provider { return s.entra(t, token(aToken)) },
	} {
		for name, body := range word(secret) {
			for _, status := range []int{200, 400, 401, 429} {
				p := open(serve(t, reply(status, body, "X-Request-Id", secret)))
				_, unaryErr := unary(t, p, hello())
				_, _, streamErr := stream(t, p, hello())
				for _, err := range []error{unaryErr, streamErr} {
					adaptertest.Silent(t, fmt.Sprintf("%s, %d", name, status), err)
				}
			}
		}
	}
}

// TestTheWordsOfAProviderAreInNoTextOfAnError: an SDK's error has them, or a piece of the answer, or an address; errors.As
// reaches it.
func TestTheWordsOfAProviderAreInNoTextOfAnError(t *testing.T) {
	t.Parallel()
	const slow = `{"error":{"code":"rate_limit_exceeded","message":"CANARY"}}`
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		sdk    bool // its own error is there
	}{
		"an error":           {reply(429, slow), true},
		"a page":             {reply(502, "<html>CANARY</html>"), true},
		"inside a 200":       {reply(200, slow), false},
		"in a stream":        {events(text("a"), "data: "+slow+"\n\n"), false},
		"no JSON":            {reply(200, `{"choices":CANARY`), false},
		"no JSON in a piece": {events(text("a"), "data: {CANARY\n\n"), false},
		"elsewhere":          {reply(307, "", "Location", "https://CANARY.invalid/?key=CANARY"), false},
		"cut":                {thenAbort(text("a"), "data: CANARY"), false},
	} {
		p := serve(t, c.handle).provider(t)
		_, unaryErr := unary(t, p, hello())
		_, _, streamErr := stream(t, p, hello())
		for _, err := range []error{unaryErr, streamErr} {
			e := failed(t, err, llm.KindOf(err))
			if text := fmt.Sprintf("%v %+v %v %+v %#v %d", e, e, e.Err, e.Err, e.Err, e.Err); strings.Contains(text, "CANARY") {
				t.Errorf("%s: %s", name, text)
			}
			api, isAPI := errors.AsType[*openai.APIError](err)
			request, isRequest := errors.AsType[*openai.RequestError](err)
			if c.sdk && (!isAPI || api.Message != "CANARY") && (!isRequest || request.HTTPStatusCode != 502) {
				t.Errorf("%s: the SDK's own error is not there: %v", name, err)
			}
		}
	}
	p, err := azure.Compatible(&azure.CompatibleOptions{BaseURL: "http://127.0.0.1:1/CANARY", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = unary(t, p, hello())
	if e := failed(t, err, llm.ErrConnection); strings.Contains(fmt.Sprintf("%v %+v %#v", e.Err, e.Err, e.Err), "CANARY") {
		t.Errorf("%v", e.Err)
	}
}

func TestAPlaceholderForAKeyTakesNoWordsAway(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(429, `{"error":{"code":"token_limit","message":"token"}}`, "X-Request-Id", "a-token"))
	_, err := unary(t, s.provider(t, func(o *azure.CompatibleOptions) { o.Key = "token" }), hello())
	if e := failed(t, err, llm.ErrRateLimited); e.Code != "token_limit" || e.RequestID != "a-token" || e.Message != "token" {
		t.Errorf("%+v", e)
	}
}

func TestAProviderDoesNotPrintItsKey(t *testing.T) {
	t.Parallel()
	p := serve(t, http.NotFound).provider(t, func(o *azure.CompatibleOptions) { o.Key = aKey })
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(format, p); strings.Contains(s, "CANARY") {
			t.Errorf("%s: %s", format, s)
		}
	}
}
