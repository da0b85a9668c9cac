package cases_test

import (
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// TestConnectionsThatNoRetryMends ties the words of the adapters to those of the policy.
func TestConnectionsThatNoRetryMends(t *testing.T) {
	t.Parallel()
	for code, again := range map[string]bool{
		httpx.CodeHostNotFound: false, httpx.CodeNotTrusted: false, httpx.CodeWrongHost: false, httpx.CodeExpired: false, httpx.CodeNotTLS: false,
		httpx.CodeLookupFailed: true, httpx.CodeTLSRefused: true, httpx.CodeConnectionRefused: true, httpx.CodeConnectionReset: true,
		httpx.CodeUnreachable: true, httpx.CodeConnectTimeout: true, httpx.CodeClosed: true, httpx.CodeProxyRefused: true,
	} {
		if got := policy.Again(&llm.Error{Kind: llm.ErrConnection, Code: code}); got != again {
			t.Errorf("%s: again is %v, want %v", code, got, again)
		}
		if strings.HasPrefix(code, "certificate_") && again {
			t.Errorf("%s is asked again", code)
		}
	}
}
