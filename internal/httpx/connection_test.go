package httpx_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/internal/httpx"
)

func TestConnectionCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("other"), ""},
		{&net.DNSError{IsNotFound: true}, httpx.CodeHostNotFound},
		{&net.DNSError{IsTimeout: true}, httpx.CodeLookupFailed},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, httpx.CodeNotTrusted},
		{x509.UnknownAuthorityError{}, httpx.CodeNotTrusted},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{}}, httpx.CodeWrongHost},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, httpx.CodeExpired},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NameMismatch}}, httpx.CodeNotTrusted},
		{tls.RecordHeaderError{}, httpx.CodeNotTLS},
		{http.ErrSchemeMismatch, httpx.CodeNotTLS},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, httpx.CodeTLSRefused},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, httpx.CodeConnectionRefused},
		{syscall.ECONNRESET, httpx.CodeConnectionReset},
		{syscall.EPIPE, httpx.CodeConnectionReset},
		{syscall.EHOSTUNREACH, httpx.CodeUnreachable},
		{syscall.ENETUNREACH, httpx.CodeUnreachable},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, httpx.CodeConnectTimeout},
		{io.EOF, httpx.CodeClosed},
		{io.ErrUnexpectedEOF, httpx.CodeClosed},
	} {
		if got := httpx.ConnectionCode(c.err); got != c.want {
			t.Errorf("%T: %q, want %q", c.err, got, c.want)
		}
		if c.err == nil {
			continue
		}
		if got := httpx.ConnectionCode(wrapped{c.err}); got != c.want {
			t.Errorf("%T, wrapped: %q, want %q", c.err, got, c.want)
		}
	}
}

// wrapped has no text: that of a bare x509.HostnameError panics.
type wrapped struct{ error }

func (w wrapped) Unwrap() error { return w.error }

func TestConnectionCodesOfRealServers(t *testing.T) {
	t.Parallel()
	quiet := func(s *httptest.Server) *httptest.Server {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
		return s
	}
	secure := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()))
	secure.StartTLS()
	wantsCert := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()))
	// TLS 1.2 refuses within the handshake. In 1.3 the refusal comes behind it, and a write may fail before it is read.
	wantsCert.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	wantsCert.StartTLS()
	plain := quiet(httptest.NewServer(http.NotFoundHandler()))
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	roots.AddCert(wantsCert.Certificate())
	for name, c := range map[string]struct {
		url, want string
		tls       *tls.Config
	}{
		"unknown authority": {secure.URL, httpx.CodeNotTrusted, nil},
		"wrong host":        {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), httpx.CodeWrongHost, &tls.Config{RootCAs: roots}},
		"expired": {secure.URL, httpx.CodeExpired, &tls.Config{RootCAs: roots, Time: func() time.Time {
			return time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
		}}},
		"no client certificate": {wantsCert.URL, httpx.CodeTLSRefused, &tls.Config{RootCAs: roots}},
		"no TLS":                {strings.Replace(plain.URL, "http:", "https:", 1), httpx.CodeNotTLS, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := httpx.Transport()
			transport.TLSClientConfig = c.tls
			client := httpx.Client(&http.Client{Transport: transport}, httpx.Options{})
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if got := httpx.ConnectionCode(fmt.Errorf("by an SDK: %w", err)); got != c.want {
				t.Errorf("%q, want %q: %v", got, c.want, err)
			}
		})
	}
}

func TestConnectionCodesOfProxies(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusProxyAuthRequired: httpx.CodeProxyRefused, http.StatusForbidden: httpx.CodeProxyRefused,
		http.StatusUnauthorized: httpx.CodeProxyRefused, http.StatusBadGateway: "", http.StatusServiceUnavailable: "",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			defer proxy.Close()
			address, err := url.Parse(strings.Replace(proxy.URL, "//", "//user:canary-password@", 1))
			if err != nil {
				t.Fatal(err)
			}
			transport := httpx.Transport()
			transport.Proxy = http.ProxyURL(address)
			client := httpx.Client(&http.Client{Transport: transport}, httpx.Options{})
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if got := httpx.ConnectionCode(err); err == nil || got != want || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q, want %q: %v", got, want, err)
			}
		})
	}
}
