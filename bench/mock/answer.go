package mock

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	pieces   = 10 // of a streamed answer
	dripping = 100 * time.Millisecond
)

// Text is the answer of every mock.
var Text = strings.Repeat("The answer is of the usual length and says little. ", 25)

// answering is one answer under way.
type answering struct {
	w        http.ResponseWriter
	ctx      context.Context //nolint:containedctx // of the one request that is answered
	streamed bool
}

// refuse sends an error body.
func (a *answering) refuse(status int, code string) {
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_, _ = fmt.Fprintf(a.w, `{"error":{"message":"refused","type":%q,"param":null,"code":%q}}`, code, code)
}

// answer sends the whole answer after whole, or if it is streamed in equal pieces from first to whole.
func (a *answering) answer(whole, first time.Duration) {
	if !a.streamed {
		if a.wait(whole) {
			a.w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(a.w, unary())
		}
		return
	}
	begun := time.Now() // each piece has its own time, so that late timers do not add up
	if !a.wait(first) {
		return
	}
	a.headers()
	a.event(chunk(`{"role":"assistant","content":""}`, "null"))
	size := len(Text) / pieces
	for i := range pieces {
		due := first + (whole-first)*time.Duration(i)/(pieces-1)
		if i > 0 && !a.wait(due-time.Since(begun)) {
			return
		}
		end := (i + 1) * size
		if i == pieces-1 {
			end = len(Text)
		}
		a.event(chunk(fmt.Sprintf(`{"content":%q}`, Text[i*size:end]), "null"))
	}
	a.event(chunk(`{}`, `"stop"`))
	a.event("[DONE]")
}

// trickle sends headers, and then what would be an answer byte by byte.
func (a *answering) trickle() {
	text := unary()
	if a.streamed {
		text = "data: " + chunk(`{"role":"assistant","content":""}`, "null")
	}
	a.headers()
	for i := range len(text) {
		if !a.wait(dripping) {
			return
		}
		_, _ = io.WriteString(a.w, text[i:i+1])
		a.flush()
	}
	<-a.ctx.Done()
}

func (a *answering) headers() {
	kind := "application/json"
	if a.streamed {
		kind = "text/event-stream"
	}
	a.w.Header().Set("Content-Type", kind)
	a.flush()
}

func (a *answering) event(data string) {
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", data)
	a.flush()
}

func (a *answering) flush() { _ = http.NewResponseController(a.w).Flush() }

// wait reports whether the client is still there after d.
func (a *answering) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.ctx.Done():
		return false
	}
}

func unary() string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"mock","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":150,"completion_tokens":300,"total_tokens":450}}`, Text)
}

func chunk(delta, finish string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"mock",`+
		`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, finish)
}
