package httpx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// Codes of a connection that failed: fixed words, so that a log says why without an address or a name in it.
const (
	CodeHostNotFound      = "host_not_found"
	CodeLookupFailed      = "name_lookup_failed"
	CodeNotTrusted        = "certificate_not_trusted" // whoever signed it is unknown here
	CodeWrongHost         = "certificate_of_another_host"
	CodeExpired           = "certificate_expired" // or not valid yet
	CodeNotTLS            = "not_tls"             // https was asked of a server that speaks something else
	CodeTLSRefused        = "tls_refused"         // by the peer, which wants another version or a client's certificate
	CodeConnectionRefused = "connection_refused"
	CodeConnectionReset   = "connection_reset"
	CodeUnreachable       = "network_unreachable"
	CodeConnectTimeout    = "connect_timeout"
	CodeClosed            = "closed_by_peer"
	CodeProxyRefused      = "proxy_refused" // a proxy that wants another user and password, or lets nobody through to that host
)

// ConnectionCode is the word for the error of a connection, "" if there is none for it.
func ConnectionCode(err error) string {
	if err == nil {
		return ""
	}
	if code := tlsCode(err); code != "" {
		return code
	}
	if errors.Is(err, errProxyRefused) {
		return CodeProxyRefused
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return CodeHostNotFound
		}
		return CodeLookupFailed
	}
	for _, c := range []struct {
		err  error
		code string
	}{
		{syscall.ECONNREFUSED, CodeConnectionRefused},
		{syscall.ECONNRESET, CodeConnectionReset},
		{syscall.EPIPE, CodeConnectionReset},
		{syscall.ENETUNREACH, CodeUnreachable},
		{syscall.EHOSTUNREACH, CodeUnreachable},
		{io.EOF, CodeClosed},
		{io.ErrUnexpectedEOF, CodeClosed},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return CodeConnectTimeout
	}
	return ""
}

// errProxyRefused is in the error of a connection that a proxy refused. Its texts may quote the request, so they are
// not kept.
var errProxyRefused = errors.New("the proxy refused the connection")

// proxyAnswer is for http.Transport.OnProxyConnectResponse: a refusal that will not pass by itself is told from others.
func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusProxyAuthRequired, http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w with status %d", errProxyRefused, answer.StatusCode)
	default:
		return nil
	}
}

func tlsCode(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return CodeWrongHost
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return CodeExpired
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return CodeNotTrusted
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok { // of a transport that checks by itself
		return CodeNotTrusted
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return CodeNotTLS
	}
	// An alert of the peer has no type of its own.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return CodeTLSRefused
	}
	return ""
}
