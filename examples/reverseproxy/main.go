// Command reverseproxy forwards requests to the service at UPSTREAM. It gives each the time that its caller waits, or
// LIMIT (30s) if that is less, and tells the service how much of it is left.
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
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("LIMIT"), "30s"))
	if err != nil {
		log.Fatal("LIMIT: ", err)
	}
	// 50 ms of each request are kept for the way to the service and back.
	header := &deadline.Header{Max: limit, Hop: 50 * time.Millisecond}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:    deadline.Transport(nil, header), // lowers the number, never raises it
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

// refuse answers a request that the service has not answered.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, context.DeadlineExceeded) {
		status, err = http.StatusGatewayTimeout, context.Cause(r.Context())
	}
	http.Error(w, err.Error(), status)
}
