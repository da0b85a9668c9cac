//go:build unix

package punctual_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/punctual-llm/punctual"
)

// A service reads its file again on SIGHUP. A file that is wrong changes nothing. Windows has no such signal: there
// an admin's request, or a timer that looks at the time of the file, does the same.
func ExampleClient_Reload() {
	file, stop := account()
	defer stop()
	ctx := context.Background()
	client, err := punctual.Open(ctx, file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	reloaded := make(chan error)
	go func() {
		for range hangUps {
			reloaded <- client.Reload(ctx) // Options.Logger hears of it, too
			return                         // a service goes on to its end
		}
	}()

	_ = syscall.Kill(os.Getpid(), syscall.SIGHUP) // kill -HUP, from outside
	fmt.Println("reloaded:", <-reloaded == nil)
	// Output: reloaded: true
}
