package cloud

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"
)

// TLSServer is a [Server] over TLS, for clients that send some credentials over nothing less. Nobody but the
// clients that are given its certificate trusts it.
type TLSServer struct {
	*Server

	pool *x509.CertPool
}

// ListenTLS serves h on addr over TLS, with HTTP/1.1 and HTTP/2 and a certificate made for it in memory; "" is a
// free port of 127.0.0.1.
func ListenTLS(addr string, h http.Handler) (*TLSServer, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	cert, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("cloud: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cloud: %w", err)
	}
	s := &TLSServer{Server: &Server{URL: "https://" + l.Addr().String(), served: make(chan struct{})}, pool: x509.NewCertPool()}
	s.pool.AddCert(cert.Leaf)
	s.http = &http.Server{
		Handler:           h,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnState:         s.track,
	}
	go func() {
		defer close(s.served)
		_ = s.http.ServeTLS(l, "", "")
	}()
	return s, nil
}

// MustListenTLS is ListenTLS on a free port for tests; it panics where there is none.
func MustListenTLS(h http.Handler) *TLSServer {
	s, err := ListenTLS("", h)
	if err != nil {
		panic(err)
	}
	return s
}

// CertPool trusts the server and nobody else.
func (s *TLSServer) CertPool() *x509.CertPool { return s.pool.Clone() }

// Client returns a new client that trusts the server and nobody else. Its idle connections are its user's to
// close; [Server.Close] ends them too.
func (s *TLSServer) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: s.CertPool(), MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
	}}
}

// selfSigned makes a certificate for the names of this host, good for a day.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "simulated cloud"},
		NotBefore:             now.Add(-24 * time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
