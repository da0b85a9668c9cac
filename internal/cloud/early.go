package cloud

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// EarlyHandler is Handler for a server that answers before it has read the request: reply is asked when the
// header of a request has come, and the body is read only once the answer is on its way, its header and the first
// piece of its body sent (or at once, if the answer waits or is none). A client that takes the answer for the end
// of its own sending loses one of the two. [Exchange.Body] stays empty; the log gets the body when it has come.
func (l *Log) EarlyHandler(reply func(*Exchange) Reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Or net/http would read the body itself before it lets an answer go. HTTP/2 is like that by nature.
		_ = http.NewResponseController(w).EnableFullDuplex()
		body := r.Body
		unread := r.WithContext(r.Context())
		unread.Body = http.NoBody
		early := &earlyWriter{ResponseWriter: w}
		x := l.begin(early, unread)
		defer x.end()
		early.read = func() { x.readLate(body) }
		defer early.finish()
		answer := reply(x)
		if answer.Wait != 0 || answer.Status == NoStatus {
			early.begin()
		}
		x.Play(answer)
	})
}

// readLate notes in the log what the body brings.
func (x *Exchange) readLate(body io.Reader) {
	limit := x.log.MaxBody
	if limit <= 0 {
		limit = 64 << 20
	}
	data, _ := io.ReadAll(io.LimitReader(body, limit)) // what came is what there is: the peer may have left
	x.update(func(r *Request) { r.Body = data })
}

// earlyWriter reads the request from the first flush on, on a goroutine of its own: until it is read to its end,
// net/http does not notice that a peer has left.
type earlyWriter struct {
	http.ResponseWriter

	read  func()
	start sync.Once
	done  sync.WaitGroup
}

// Unwrap gives http.ResponseController what else the writer can do.
func (w *earlyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError flushes, as http.ResponseController wants it.
func (w *earlyWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.begin()
	return err
}

// begin starts reading.
func (w *earlyWriter) begin() { w.start.Do(func() { w.done.Go(w.read) }) }

// finish waits for the rest of the request after an answer that is whole. After one that is not, the handler
// panics, and nobody waits: the connection dies.
func (w *earlyWriter) finish() {
	cut := recover()
	if cut != nil {
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Unix(1, 0))
	}
	w.begin()
	w.done.Wait()
	if cut != nil {
		panic(cut)
	}
}
