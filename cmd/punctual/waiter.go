package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// waiter tells on stderr of a call while it runs. On a terminal it says what is being waited for, in one line that is
// written over. With a trail it draws each attempt once, when it has ended, and on a terminal lets the row of the one
// under way grow in that line.
type waiter struct {
	app   *app
	trail *timeline // nil: only a wait is told of

	mu      sync.Mutex
	running []llm.Attempt // several at once under hedging
	ended   time.Time     // of the last attempt; zero: none has
	shown   bool          // the line is not empty
	held    bool          // rows wait until the answer is printed, which they would break
	drawn   int           // attempts of the trail
}

func (a *app) waiter(trail *timeline) *waiter { return &waiter{app: a, trail: trail} }

func (w *waiter) observer() *llm.Observer {
	return &llm.Observer{
		AttemptStart: func(ctx context.Context, a *llm.Attempt) context.Context {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.running = append(w.running, *a)
			if w.trail != nil && w.trail.begin.IsZero() {
				w.trail.begin = a.Start.Add(-a.Wait)
			}
			return ctx
		},
		AttemptEnd: func(_ context.Context, a *llm.Attempt, _ error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.running = slices.DeleteFunc(w.running, func(r llm.Attempt) bool { return r.Target == a.Target && r.Start.Equal(a.Start) })
			w.ended = time.Now()
			if w.trail != nil {
				w.trail.attempts = append(w.trail.attempts, *a)
				w.draw()
			}
		},
	}
}

// start begins to tell, until the function that it returns is called for the first time: then the answer is printed.
func (w *waiter) start() (stop func()) {
	ended := make(chan struct{})
	var telling sync.WaitGroup
	if w.app.errTerminal {
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
	}
	return sync.OnceFunc(func() {
		close(ended)
		telling.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.erase()
		w.held = true
	})
}

// finish draws what has not been drawn, once the answer is printed.
func (w *waiter) finish(skipped []llm.Skip) {
	if w.trail == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = false
	w.draw()
	for i := range skipped {
		w.say(w.trail.oneRow(skipRow(&skipped[i])) + "\n")
	}
}

// draw draws the attempts that have ended.
func (w *waiter) draw() {
	if w.held {
		return
	}
	w.erase()
	for ; w.drawn < len(w.trail.attempts); w.drawn++ {
		w.say(w.trail.oneRow(w.trail.attemptRow(w.drawn)) + "\n")
	}
}

func (w *waiter) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := w.line(time.Now())
	if line == "" {
		return
	}
	w.shown = true
	w.say("\r" + pad(line, 78))
}

// line is what there is to say of a wait, "" for nothing.
func (w *waiter) line(now time.Time) string {
	if len(w.running) == 0 {
		if silent := now.Sub(w.ended); !w.ended.IsZero() && silent >= time.Second {
			return "  waiting to ask again, " + span(silent)
		}
		return ""
	}
	a := w.running[len(w.running)-1]
	a.Took = now.Sub(a.Start)
	switch {
	case w.trail != nil:
		return w.trail.oneRow(row{name: shorten(a.Target, maxName), took: waitWord(a.Took, a.Limit), attempt: &a})
	case a.Took >= time.Second:
		return fmt.Sprintf("  %s: no answer yet, %s", a.Target, waitWord(a.Took, a.Limit))
	default:
		return ""
	}
}

func (w *waiter) erase() {
	if w.shown {
		w.say("\r" + strings.Repeat(" ", 78) + "\r")
		w.shown = false
	}
}

func (w *waiter) say(text string) {
	_, _ = fmt.Fprint(w.app.stderr, text) // who reads no errors is not asked
}
