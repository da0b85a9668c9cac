package httpx

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const benchRequest = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// BenchmarkClient has the bare client and the shimmed one on the same server.
func BenchmarkClient(b *testing.B) {
	chunk := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words\"}}]}\n\n"
	handlers := map[string]http.HandlerFunc{
		"unary": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hi"}}]}`)
		},
		"stream": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for range 200 {
				flush(w, chunk)
			}
		},
	}
	for _, mode := range []string{"unary", "stream"} {
		for _, http2 := range []bool{false, true} {
			s := serve(b, handlers[mode], http2)
			proto := map[bool]string{false: "http1", true: "http2"}[http2]
			b.Run(fmt.Sprintf("%s/%s/bare", mode, proto), func(b *testing.B) {
				benchmark(b, s.base, s.url)
			})
			b.Run(fmt.Sprintf("%s/%s/shim", mode, proto), func(b *testing.B) {
				benchmark(b, Client(s.base, Options{SSE: true}), s.url)
			})
		}
	}
}

// BenchmarkShim is what the shim alone costs, without a wire.
func BenchmarkShim(b *testing.B) {
	base := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		return answer(200, text("{}")), nil
	})}
	b.Run("bare", func(b *testing.B) { benchmark(b, base, "http://host/") })
	b.Run("shim", func(b *testing.B) { benchmark(b, Client(base, Options{}), "http://host/") })
}

func benchmark(b *testing.B, c *http.Client, url string) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		ctx, _ := WithExchange(context.Background())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(benchRequest))
		resp, err := c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err = io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
