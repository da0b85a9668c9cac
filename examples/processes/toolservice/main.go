// Command toolservice is a tool of agents: it summarises the text of a request with a model, through the gateway at
// GATEWAY. Its callers say in X-Deadline-Ms how long they wait.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

func main() {
	provider, err := azure.New(&azure.Options{
		Endpoint: os.Getenv("GATEWAY"), Deployment: "gpt-4o", Key: cmp.Or(os.Getenv("AZURE_OPENAI_API_KEY"), "key"),
		Hint: &deadline.Header{Name: "X-Gateway-Timeout-Seconds", Unit: time.Second, Max: 60 * time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	client, err := fallback.NewClient([]fallback.Target{{Name: "gateway", Generator: provider, Prompt: true}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:0"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	summarise := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		resp, err := client.Generate(r.Context(), &llm.Request{ // ends with the context, which the caller bounds
			Operation: llm.Generation, System: "Summarise in one sentence.", Messages: []llm.Message{llm.User(string(text))},
		})
		switch llm.KindOf(err) {
		case "":
			fmt.Fprintln(w, resp.Text())
		case llm.ErrTimeout, llm.ErrDeadlineExceeded:
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
		default:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	// A caller that does not say how long it waits is given a minute.
	server := &http.Server{Handler: deadline.Middleware(summarise, &deadline.Header{Max: time.Minute}), ReadTimeout: time.Minute}
	log.Fatal(server.Serve(listener))
}
