// Package network has what the adapters share of a target's way to its host: a proxy, the authorities that it trusts,
// and a certificate of the client.
package network

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"slices"

	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/llm"
)

// TLS are the keys of a target's tls in a configuration. All three are PEM; a configuration takes them from a file
// with "file:PATH", so that a new certificate is another setting and the target is opened anew.
type TLS struct {
	CA   string `yaml:"ca" json:"ca" secret:"true" doc:"Certificates to trust beside those of the system, as PEM: \"file:/etc/ssl/ca.pem\"."`
	Cert string `yaml:"cert" json:"cert" secret:"true" doc:"The client's certificate (mTLS), as PEM, with key."`
	Key  string `yaml:"key" json:"key" secret:"true" doc:"The private key of cert, as PEM."`
}

// Direct as a proxy means none, whatever the environment says.
const Direct = "direct"

// Settings are the keys of a target's network in a configuration, for a factory's own struct to embed. The zero
// Settings are those of the environment.
type Settings struct {
	Proxy string `yaml:"proxy" json:"proxy" secret:"true" doc:"The proxy to reach the host through: http://HOST:PORT, https, socks5, or direct for none." default:"HTTPS_PROXY and NO_PROXY"`
	TLS   TLS    `yaml:"tls" json:"tls" doc:"Trust and identity of the connection."`
}

// Client returns a client with these settings on a transport of its own, nil where there are none: then an adapter
// uses the one that it has. Whoever opened it closes it by CloseIdleConnections.
func (s Settings) Client() (*http.Client, error) {
	if s == (Settings{}) {
		return nil, nil //nolint:nilnil // no client is asked for
	}
	t := httpx.Transport()
	if err := s.proxy(t); err != nil {
		return nil, err
	}
	config, err := s.TLS.config()
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig = config
	return &http.Client{Transport: t}, nil
}

// Closer is closed, with the client's idle connections after it. A nil client has none.
func Closer(closed func() error, client *http.Client) func() error {
	if client == nil {
		return closed
	}
	return func() error {
		err := closed()
		client.CloseIdleConnections()
		return err
	}
}

func (s Settings) proxy(t *http.Transport) error {
	switch s.Proxy {
	case "":
		return nil
	case Direct:
		t.Proxy = nil
		return nil
	}
	u, err := url.Parse(s.Proxy)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return llm.Invalid("proxy", "is no address of a proxy", "write http://HOST:PORT, https://…, socks5://…, or "+Direct+" for none")
	}
	t.Proxy = http.ProxyURL(u)
	return nil
}

// config is nil where nothing is set.
func (s TLS) config() (*tls.Config, error) {
	if s == (TLS{}) {
		return nil, nil //nolint:nilnil // the transport's own is right
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // there is none on this system
		}
		if !pool.AppendCertsFromPEM([]byte(s.CA)) {
			return nil, llm.Invalid("tls.ca", "holds no certificate", `give PEM, such as "file:/etc/ssl/ca.pem"`)
		}
		c.RootCAs = pool
	}
	switch {
	case s.Cert == "" && s.Key == "":
		return c, nil
	case s.Cert == "":
		return nil, llm.Invalid("tls.cert", "is empty, but there is a key", "give the certificate of the key, or leave both out")
	case s.Key == "":
		return nil, llm.Invalid("tls.key", "is empty, but there is a certificate", "give the key of the certificate, or leave both out")
	}
	pair, err := tls.X509KeyPair([]byte(s.Cert), []byte(s.Key))
	if err != nil { // its text may be of the key
		return nil, llm.Invalid("tls.cert", "is no certificate in PEM, or tls.key is not its key", `give both as PEM, such as "file:/run/secrets/client.pem"`)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
