package httpx

import (
	"net"
	"net/http"
	"time"
)

// Transport returns a new transport tuned for LLM providers: few hosts, many
// calls at once, answers that take minutes. Adapters that should share
// connections share one of these in their base client.
//
// It has the settings of http.DefaultTransport, except that a dial and a TLS
// handshake have 10 s each, that a burst of calls finds its connections again
// (by default two idle ones are kept for a host), and that a dead HTTP/2
// connection is found by pings. It has no ResponseHeaderTimeout: a model may
// think for minutes before it says a word.
func Transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: proxyAnswer,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true, // lost otherwise with a DialContext
		MaxIdleConns:           512,
		MaxIdleConnsPerHost:    128,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		HTTP2: &http.HTTP2Config{
			// Without pings every call on a connection whose peer vanished waits
			// for its own limit, and so do the calls after it. 30 s is what
			// Google's and Kubernetes' clients use; servers bear it.
			SendPingTimeout:  30 * time.Second,
			PingTimeout:      10 * time.Second,
			WriteByteTimeout: 30 * time.Second,
		},
	}
}
