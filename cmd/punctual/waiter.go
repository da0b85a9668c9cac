package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// waiter tells on a terminal what a call waits for, in one line of stderr that is written over. Elsewhere it is silent.
type waiter struct {
	app *app

	mu      sync.Mutex
	current llm.Attempt // zero: none is under way
	shown   bool
}

func (a *app) waiter() *waiter { return &waiter{app: a} }

func (w *waiter) observer() *llm.Observer {
	return &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.current = *a
			return ctx
		},
		AttemptEnd: func(context.Context, *llm.Attempt, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.current = llm.Attempt{}
		},
	}
}

// start begins to tell, until the function that it returns is called for the first time.
func (w *waiter) start() (stop func()) {
	if !w.app.errTerminal {
		return func() {}
	}
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				w.tell()
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		telling.Wait()
		if w.shown {
			fmt.Fprint(w.app.stderr, "\r"+strings.Repeat(" ", 78)+"\r")
		}
	})
}

func (w *waiter) tell() {
	w.mu.Lock()
	a := w.current
	w.mu.Unlock()
	if a.Start.IsZero() || time.Since(a.Start) < time.Second {
		return
	}
	w.shown = true
	fmt.Fprint(w.app.stderr, "\r"+pad(fmt.Sprintf("  %s: no answer yet, %s", a.Target, waitWord(time.Since(a.Start), a.Limit)), 78))
}
