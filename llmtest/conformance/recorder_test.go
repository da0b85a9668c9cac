package conformance

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// recorder stands in for *testing.T, so that a case that fails is a result and not a failure.
type recorder struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// record runs one case and returns what it has to say against the generators that open makes. label is the
// name under which its goroutines are counted.
func record(c testCase, label string, open func(script ...llmtest.Step) llm.Generator) []string {
	r := new(recorder)
	done := make(chan struct{})
	go func() { // Fatalf ends it
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		c.run(newCheck(r, countGoroutines(context.Background(), label), open))
	}()
	<-done
	return r.failures
}
