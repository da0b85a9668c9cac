package azure_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
					e, isOurs := err.(*llm.Error) //nolint:errorlint // the contract says so
					if !isOurs {
						t.Fatalf("%s, %d: %v", name, status, err)
					}
					asJSON, _ := json.Marshal(e)
					partial, _ := json.Marshal(e.Partial)
					for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), string(asJSON), string(partial), e.Message, e.Code, e.RequestID, fmt.Sprint(e.Filtered)} {
						if strings.Contains(text, "CANARY") {
							t.Errorf("%s, %d: %s", name, status, text)
						}
					}
				}
			}
		}
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
