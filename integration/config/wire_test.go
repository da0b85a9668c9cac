package config_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest/cloud/azure"
	"github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	"github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

// generate loads a file, or the environment alone with an empty name, and makes one call.
func generate(t *testing.T, file string, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	chain, err := c.Build(t.Context(), providers(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := chain.Generate(t.Context(), req, nil)
	if closed := chain.Close(context.WithoutCancel(t.Context())); closed != nil {
		t.Error(closed)
	}
	return resp, err
}

func hello() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("Hi")}} }

// noVariables takes the providers' variables of this machine away.
func noVariables(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_DEPLOYMENT", "AZURE_OPENAI_API_VERSION", "LLM_BEDROCK_MODEL",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "LLM_VERTEX_MODEL", "GOOGLE_CLOUD_PROJECT",
		"GOOGLE_CLOUD_LOCATION", "GOOGLE_API_KEY", "GEMINI_API_KEY", "LLM_ENV",
	} {
		t.Setenv(name, "")
	}
}

func TestEachProviderVariableChangesTheWire(t *testing.T) {
	a, b, v := azure.Start(), bedrock.New(nil), vertex.Start()
	t.Cleanup(a.Close)
	t.Cleanup(v.Close)
	var signed atomic.Value // the log of a cloud has no credentials
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed.Store(r.URL.EscapedPath() + " " + r.Header.Get("Authorization"))
		b.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(aws.Close)
	for _, test := range []struct {
		name      string
		variables []string
		sent      func() string // what the server saw of the last request
		want      []string
	}{
		{
			name:      "azure",
			variables: []string{"AZURE_OPENAI_ENDPOINT=" + a.URL, "AZURE_OPENAI_API_KEY=k-1", "AZURE_OPENAI_DEPLOYMENT=mini", "AZURE_OPENAI_API_VERSION=2024-10-21"},
			sent:      func() string { r := a.Requests(); return r[len(r)-1].Path + "?" + r[len(r)-1].Query },
			want:      []string{"/openai/deployments/mini/", "api-version=2024-10-21"},
		},
		{
			name:      "azure without a version",
			variables: []string{"AZURE_OPENAI_ENDPOINT=" + a.URL, "AZURE_OPENAI_API_KEY=k-1", "AZURE_OPENAI_DEPLOYMENT=mini"},
			sent:      func() string { r := a.Requests(); return r[len(r)-1].Path + "?" + r[len(r)-1].Query },
			want:      []string{"/openai/v1/"},
		},
		{
			name: "bedrock",
			variables: []string{
				"LLM_BEDROCK_MODEL=amazon.nova-lite-v1:0", "AWS_REGION=eu-west-3", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=" + aws.URL,
				"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret-of-example",
			},
			sent: func() string { s, _ := signed.Load().(string); return s },
			want: []string{"/model/amazon.nova-lite-v1%3A0/converse", "/eu-west-3/bedrock/"},
		},
		{
			name: "vertex",
			variables: []string{
				"LLM_VERTEX_MODEL=gemini-2.5-flash", "GOOGLE_CLOUD_PROJECT=my-project", "GOOGLE_CLOUD_LOCATION=europe-west4",
				"GOOGLE_API_KEY=k-2", "GOOGLE_VERTEX_BASE_URL=" + v.URL,
			},
			sent: func() string { r := v.Requests(); return r[len(r)-1].Path },
			want: []string{"/projects/my-project/locations/europe-west4/", "/models/gemini-2.5-flash:generateContent"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			noVariables(t)
			for _, variable := range test.variables {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			if _, err := generate(t, "", hello()); err != nil {
				t.Fatalf("%+v", err)
			}
			sent := test.sent()
			for _, want := range test.want {
				if !strings.Contains(sent, want) {
					t.Errorf("sent %s, which has no %s", sent, want)
				}
			}
		})
	}
}

// guarded serves h over TLS to those who show a certificate, and returns its address and a folder with ca.pem,
// client.pem and client-key.pem.
func guarded(t *testing.T, h http.Handler) (address, folder string) {
	t.Helper()
	certificate, key := clientCertificate(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet()
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	folder = t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, text := range map[string][]byte{"ca.pem": ca, "client.pem": certificate, "client-key.pem": key} {
		write(t, filepath.Join(folder, name), string(text))
	}
	return s.URL, folder
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func clientCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// tunnel is a proxy that opens tunnels for CONNECT to whoever knows its password, and counts them.
type tunnel struct{ opened atomic.Int64 }

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNz" {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	far, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	p.opened.Add(1)
	near, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // a server of HTTP/1.1
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(far, near); _ = far.Close() }()
	_, _ = io.Copy(near, far)
	_ = near.Close()
	<-done
}

func TestATargetHasAProxyAndCertificatesOfItsOwn(t *testing.T) {
	noVariables(t)
	a, b, v := azure.New(nil), bedrock.New(nil), vertex.New(nil)
	for name, test := range map[string]struct {
		server http.Handler
		keys   string
	}{
		"azure":   {a.Handler(), "endpoint: URL, deployment: mini, api_key: k-1"},
		"openai":  {a.Handler(), "base_url: URL/v1, model: mini, api_key: k-1"},
		"bedrock": {b.Handler(), "endpoint: URL, region: us-east-1, model: \"amazon.nova-lite-v1:0\", access_key_id: AKIDEXAMPLE, secret_access_key: secret-of-example"},
		"vertex":  {v.Handler(), "endpoint: URL, project: my-project, model: gemini-2.5-flash, api_key: k-2"},
	} {
		t.Run(name, func(t *testing.T) {
			address, folder := guarded(t, test.server)
			proxy := &tunnel{}
			p := httptest.NewServer(proxy)
			t.Cleanup(p.Close)
			file := filepath.Join(folder, "llm.yaml")
			call := func(extra string) error {
				keys := strings.ReplaceAll(test.keys, "URL", address)
				write(t, file, "plans: {default: {max_retries: 0, attempt: 5s, total: 5s}}\ntargets:\n  - {name: a, provider: "+name+", "+keys+extra+"}\n")
				_, err := generate(t, file, hello())
				return err
			}
			const ca, identity = `ca: "file:ca.pem"`, `cert: "file:client.pem", key: "file:client-key.pem"`
			through := `, proxy: "` + strings.Replace(p.URL, "http://", "http://user:pass@", 1) + `"`
			if err := call(", tls: {" + ca + ", " + identity + "}"); err != nil {
				t.Errorf("with a certificate: %+v", err)
			}
			if n := proxy.opened.Load(); n != 0 {
				t.Errorf("%d tunnels without a proxy", n)
			}
			if err := call(through + ", tls: {" + ca + ", " + identity + "}"); err != nil {
				t.Errorf("through the proxy: %+v", err)
			}
			if n := proxy.opened.Load(); n != 1 {
				t.Errorf("%d tunnels, want 1", n)
			}
			for what, extra := range map[string]string{
				"no certificate": ", tls: {" + ca + "}", "no authority": ", tls: {" + identity + "}",
				"a proxy that refuses": `, proxy: "` + p.URL + `", tls: {` + ca + ", " + identity + "}",
			} {
				err := call(extra)
				if k := llm.KindOf(err); k != llm.ErrConnection {
					t.Errorf("%s: %q, %v", what, k, err)
				}
			}
		})
	}
}

func TestWrongNetworkSettingsAreToldAtTheirPlace(t *testing.T) {
	noVariables(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "llm.yaml")
	certificate, key := clientCertificate(t)
	_, other := clientCertificate(t)
	write(t, filepath.Join(folder, "client.pem"), string(certificate))
	write(t, filepath.Join(folder, "client-key.pem"), string(key))
	write(t, filepath.Join(folder, "other-key.pem"), string(other))
	write(t, filepath.Join(folder, "text.pem"), "no PEM at all")
	write(t, file, "targets: [{name: a, provider: vertex, project: p, model: gemini-2.5-flash, engine: vertexai, proxy: direct}]\n")
	if _, err := generate(t, file, hello()); err == nil || !strings.Contains(err.Error(), "targets.a.engine: takes neither proxy nor tls") {
		t.Errorf("the engine vertexai with a proxy: %v", err)
	}
	for extra, want := range map[string]string{
		`proxy: "user:canary-of-a-proxy@host"`:                                     "llm.yaml:6:12: targets.a.proxy: is no address of a proxy",
		`tls: {ca: "file:text.pem"}`:                                               "llm.yaml:6:15: targets.a.tls.ca: holds no certificate",
		`tls: {ca: "file:none.pem"}`:                                               "llm.yaml:6:15: targets.a.tls.ca: the file",
		`tls: {cert: "file:client.pem"}`:                                           "llm.yaml:6:10: targets.a.tls.key: is empty, but there is a certificate",
		`tls: {cert: "file:client.pem", key: "file:other-key.pem"}`:                "llm.yaml:6:17: targets.a.tls.cert: is no certificate in PEM, or tls.key is not its key",
		`tls: {cert: "file:client.pem", key: "file:client-key.pem", certs: "..."}`: `llm.yaml:6:64: targets.a.tls: unknown key "certs"; did you mean "cert"?`,
	} {
		write(t, file, "targets:\n  - name: a\n    provider: azure\n    endpoint: https://azure.example\n    deployment: d\n    "+extra+"\n    api_key: k\n")
		_, err := generate(t, file, hello())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s:\ngot  %v\nwant %s", extra, err, want)
		}
	}
}
