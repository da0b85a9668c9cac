// Command gateway stands between the services of a company and the model provider at UPSTREAM. Services tell it in a
// header of its own, in whole seconds, how long they wait; more than LIMIT (60s) it gives nobody. It tells the
// provider's side what is left in the same header.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

func main() {
	upstream, err := url.Parse(os.Getenv("UPSTREAM"))
	if err != nil || upstream.Host == "" {
		log.Fatal("UPSTREAM is no address: set it to http://HOST:PORT")
	}
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("LIMIT"), "60s"))
	if err != nil {
		log.Fatal("LIMIT: ", err)
	}
	header := &deadline.Header{Name: "X-Gateway-Timeout-Seconds", Unit: time.Second, Max: limit, Hop: 50 * time.Millisecond}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:    deadline.Transport(nil, header),
		ErrorHandler: refuse,
	}
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:0"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	server := &http.Server{Handler: deadline.Middleware(proxy, header), ReadHeaderTimeout: limit}
	log.Fatal(server.Serve(listener))
}

// refuse answers a request that the provider has not answered, in the form of the provider's own errors.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, code := http.StatusBadGateway, "bad_gateway"
	if errors.Is(err, context.DeadlineExceeded) {
		status, code = http.StatusGatewayTimeout, "timeout"
	}
	log.Printf("%s after %v: %v", code, deadline.Elapsed(r.Context()).Round(time.Millisecond), context.Cause(r.Context()))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%q,"message":"the provider did not answer in time"}}`, code)
}
