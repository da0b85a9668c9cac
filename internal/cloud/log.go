package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is one request as the server saw it.
type Request struct {
	N      int           // from 1, in order of arrival
	Time   time.Duration // of arrival, since the log's epoch
	Proto  string        // "HTTP/1.1" or "HTTP/2.0"
	Method string
	Path   string      // escaped, as it was sent
	Query  string      // raw, credentials masked
	Header http.Header // credentials masked
	Body   []byte
	Model  string // asked: the deployment or model; "" when the request names none
	Stream bool
	Status int           // replied; 0: nothing was sent
	Took   time.Duration // from arrival to the end
	Gone   bool          // the peer left, or the server was closed, before the reply was over
	Open   bool          // not ended yet: Status, Took and Gone are not final
}

// Log records requests. The zero Log is ready; it counts time from the first request.
type Log struct {
	// Epoch is what Request.Time counts from; several clouds may share one. It and the other fields are set
	// before the first request.
	Epoch time.Time
	// OnRequest hears of each request once, when it has ended. Calls may overlap.
	OnRequest func(Request)
	// MaxBody bounds the body that is read; 0 is 64 MiB. A longer one is [ErrBodyTooLarge] for [Exchange.BodyErr].
	MaxBody int64
	// Keep bounds the requests that are kept: beyond it, the oldest that has ended goes. 0 keeps all.
	Keep int

	mu       sync.Mutex
	requests []*Request
	arrived  int
	open     int           // requests that have not ended
	changed  chan struct{} // closed and replaced when a request ends
}

// ErrBodyTooLarge is the [Exchange.BodyErr] of a request longer than [Log.MaxBody].
var ErrBodyTooLarge = errors.New("cloud: request body too large")

// Exchange is one request while it is answered.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request // with its real credentials; the body can be read again
	// Body is the whole body. BodyErr says why it is not whole.
	Body    []byte
	BodyErr error

	log     *Log
	request *Request
	start   time.Time
}

// Handler records each request and hands it to serve.
func (l *Log) Handler(serve func(*Exchange)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := l.begin(w, r)
		defer x.end()
		serve(x)
	})
}

// begin notes the arrival before the body is read, so that a client that never finishes sending is seen too.
func (l *Log) begin(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{W: w, R: r, log: l, start: time.Now()}
	l.mu.Lock()
	if l.Epoch.IsZero() {
		l.Epoch = x.start
	}
	l.arrived++
	x.request = &Request{
		N: l.arrived, Time: x.start.Sub(l.Epoch), Proto: r.Proto, Method: r.Method,
		Path: r.URL.EscapedPath(), Query: maskQuery(r.URL.RawQuery), Header: maskHeader(r.Header), Open: true,
	}
	l.requests = append(l.requests, x.request)
	l.open++
	l.mu.Unlock()
	x.readBody()
	return x
}

func (x *Exchange) readBody() {
	limit := x.log.MaxBody
	if limit <= 0 {
		limit = 64 << 20
	}
	x.Body, x.BodyErr = io.ReadAll(io.LimitReader(x.R.Body, limit+1))
	if int64(len(x.Body)) > limit {
		x.Body, x.BodyErr = x.Body[:limit], ErrBodyTooLarge
		_, _ = io.Copy(io.Discard, io.LimitReader(x.R.Body, limit)) // or the reply would meet a peer still writing
	}
	x.R.Body = io.NopCloser(bytes.NewReader(x.Body))
	x.update(func(r *Request) { r.Body = x.Body })
}

// Describe tells the log what the request asks for.
func (x *Exchange) Describe(model string, stream bool) {
	x.update(func(r *Request) { r.Model, r.Stream = model, stream })
}

// SetStatus tells the log the status that is replied. [Exchange.Play] does it itself.
func (x *Exchange) SetStatus(status int) { x.update(func(r *Request) { r.Status = status }) }

// Request returns what the log holds of this request so far.
func (x *Exchange) Request() Request {
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	return *x.request
}

func (x *Exchange) left() { x.update(func(r *Request) { r.Gone = true }) }

func (x *Exchange) update(f func(*Request)) {
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	f(x.request)
}

// end runs the hook before it wakes those who wait.
func (x *Exchange) end() {
	l := x.log
	x.update(func(r *Request) { r.Took, r.Open = time.Since(x.start), false })
	if l.OnRequest != nil {
		l.OnRequest(x.Request())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	for l.Keep > 0 && len(l.requests) > l.Keep {
		oldest := slices.IndexFunc(l.requests, func(r *Request) bool { return !r.Open })
		if oldest < 0 {
			break
		}
		l.requests = slices.Delete(l.requests, oldest, oldest+1)
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Requests returns all requests that are kept, in order of arrival; those that are still being answered are Open. Header and
// Body are shared, and only to be read.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Request, len(l.requests))
	for i, r := range l.requests {
		list[i] = *r
	}
	return list
}

// Wait returns when n requests have ended, or with the error of ctx. A server hears that its peer has left a
// little after the peer knows, so wait before you read the log of an aborted call.
func (l *Log) Wait(ctx context.Context, n int) error {
	if l.wait(ctx.Done(), func() bool { return l.arrived-l.open >= n }) {
		return nil
	}
	return ctx.Err()
}

// Drain returns when no request is being answered.
func (l *Log) Drain() { l.wait(nil, func() bool { return l.open == 0 }) }

// wait returns when done reports true, which is asked under the lock, or when cancel is closed.
func (l *Log) wait(cancel <-chan struct{}, done func() bool) bool {
	for {
		l.mu.Lock()
		if done() {
			l.mu.Unlock()
			return true
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-cancel:
			return false
		}
	}
}
