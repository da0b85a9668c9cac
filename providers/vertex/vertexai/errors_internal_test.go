package vertexai

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
)

// gRPC has only words for why there is no connection.
func TestTheWordsOfGRPCForAConnection(t *testing.T) {
	t.Parallel()
	const tls = `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: `
	for words, want := range map[string]string{
		`name resolver error: produced zero addresses`:                                                                   httpx.CodeHostNotFound,
		`dns: A record lookup error: lookup a.invalid on 10.0.0.1:53: no such host`:                                      httpx.CodeHostNotFound,
		tls + `certificate signed by unknown authority"`:                                                                 httpx.CodeNotTrusted,
		tls + `certificate relies on legacy Common Name field, use SANs instead"`:                                        httpx.CodeNotTrusted,
		tls + `certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z"`:                          httpx.CodeExpired,
		tls + `certificate is valid for secret.example, not other.example"`:                                              httpx.CodeWrongHost,
		tls + `certificate is not valid for any names, but wanted to match a"`:                                           httpx.CodeWrongHost,
		tls + `cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"`:                        httpx.CodeWrongHost,
		`connection error: desc = "transport: authentication handshake failed: remote error: tls: certificate required"`: httpx.CodeTLSRefused,
		`authentication handshake failed: tls: first record does not look like a TLS handshake`:                          httpx.CodeNotTLS,
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`:   httpx.CodeConnectionRefused,
		`connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:1: i/o timeout"`:                    httpx.CodeConnectTimeout,
		`connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:1: connect: no route to host"`:      httpx.CodeUnreachable,
		`error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer`:                   httpx.CodeConnectionReset,
		`error reading server preface: EOF`:                                                                              httpx.CodeClosed,
		`something that nobody knows`:                                                                                    "",
	} {
		code, err := causeOf(status.New(codes.Unavailable, words), "host.example")
		e := &llm.Error{Kind: llm.ErrConnection, Code: code, Err: err}
		if code != want || strings.Contains(err.Error()+e.Error(), "secret") || strings.HasSuffix(e.Error(), " )") {
			t.Errorf("%q: %q, want %q (%v)", words, code, want, e)
		}
		if code == httpx.CodeHostNotFound && !strings.Contains(e.Error(), "no such host host.example") {
			t.Errorf("%v", e)
		}
	}
}
