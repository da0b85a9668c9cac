package providers_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// The frames of HTTP/2 that a refusal takes.
const (
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	http2Data, http2Headers, http2Reset, http2Settings, http2GoAway = 0, 1, 3, 4, 7

	http2EndStream      = 1
	http2RefusedStream  = 7
	http2FrameHeadBytes = 9
)

func http2Frame(kind byte, stream uint32, payload ...byte) []byte {
	f := []byte{0, 0, byte(len(payload)), kind, 0}
	return append(binary.BigEndian.AppendUint32(f, stream), payload...)
}

// refusing is a server of HTTP/2 that answers every request with what refuse returns, and counts them.
func refusing(t *testing.T, refuse func(stream uint32) []byte) (url string, requests *atomic.Int32) {
	t.Helper()
	site := httptest.NewUnstartedServer(nil)
	site.StartTLS()
	certificates := site.TLS.Certificates
	site.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int32)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { refuseAll(c, refuse, requests) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		conns.Wait()
	})
	return "https://" + listener.Addr().String(), requests
}

func refuseAll(c net.Conn, refuse func(stream uint32) []byte, requests *atomic.Int32) {
	defer func() { _ = c.Close() }()
	if _, err := io.ReadFull(c, make([]byte, len(http2Preface))); err != nil {
		return
	}
	_, _ = c.Write(http2Frame(http2Settings, 0))
	head := make([]byte, http2FrameHeadBytes)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		size := int64(binary.BigEndian.Uint32(head) >> 8)
		if _, err := io.CopyN(io.Discard, c, size); err != nil {
			return
		}
		if (head[3] == http2Data || head[3] == http2Headers) && head[4]&http2EndStream != 0 {
			requests.Add(1)
			_, _ = c.Write(refuse(binary.BigEndian.Uint32(head[5:])))
		}
	}
}

// TestAPeerThatTurnsRequestsAwayGetsTwo: net/http would repeat them until the call ends, thousands of times.
func TestAPeerThatTurnsRequestsAwayGetsTwo(t *testing.T) {
	t.Parallel()
	for refusal, refuse := range map[string]func(uint32) []byte{
		"REFUSED_STREAM": func(stream uint32) []byte { return http2Frame(http2Reset, stream, 0, 0, 0, http2RefusedStream) },
		"GOAWAY":         func(uint32) []byte { return http2Frame(http2GoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
	} {
		for cloud, open := range map[string]func(url string, client *http.Client) (llm.Generator, error){
			"bedrock": func(url string, client *http.Client) (llm.Generator, error) {
				return bedrock.New(&bedrock.Options{
					Region: "us-east-1", Model: "m", Endpoint: url, HTTP: client,
					Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
						return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI"}, nil
					}),
				})
			},
			"vertex": func(url string, client *http.Client) (llm.Generator, error) {
				return vertex.New(&vertex.Options{Project: "p", Model: "m", APIKey: "key-test", Endpoint: url, HTTP: client})
			},
		} {
			t.Run(cloud+" "+refusal, func(t *testing.T) {
				t.Parallel()
				url, requests := refusing(t, refuse)
				transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				defer transport.CloseIdleConnections()
				g, err := open(url, &http.Client{Transport: transport})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				for name, sink := range map[string]llm.Sink{"unary": nil, "stream": func(llm.Event) error { return nil }} {
					before := requests.Load()
					_, err = g.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.User("hello")}}, sink)
					e, ok := errors.AsType[*llm.Error](err)
					if sent := requests.Load() - before; sent > 2 || !ok || e.Kind != llm.ErrConnection || e.NotSent {
						t.Errorf("%s: %d requests, %v", name, sent, err)
					}
				}
			})
		}
	}
}
