package vertexai_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func TestAConnectionThatIsRefused(t *testing.T) {
	t.Parallel()
	l := listen(t)
	_ = l.Close()
	for endpoint, cause := range map[string]func(error) bool{
		"http://" + l.Addr().String(): func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		"http://no-such-host.invalid": func(err error) bool {
			dns, ok := errors.AsType[*net.DNSError](err)
			return ok && dns.IsNotFound
		},
	} {
		both(t, func(t *testing.T, stream bool) {
			t.Helper()
			p := new(server).provider(t, func(o *vertex.Options) { o.Endpoint = endpoint })
			start := time.Now()
			_, _, err := ask(t, p, hello(), stream)
			e := failed(t, err, llm.ErrConnection)
			if !e.NotSent || e.Status != 0 || !cause(err) {
				t.Errorf("got %+v: %v", e, e.Err)
			}
			if took := time.Since(start); took > patience/2 {
				t.Errorf("took %v: it waited for a connection", took)
			}
		})
	}
}

// A service that is back is asked again soon, where gRPC by itself waits up to two minutes.
func TestAConnectionIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	free := listen(t)
	address := free.Addr().String()
	_ = free.Close()
	p := new(server).provider(t, func(o *vertex.Options) { o.Endpoint = "http://" + address })
	_, _, err := ask(t, p, hello(), false)
	_ = failed(t, err, llm.ErrConnection)

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("somebody else has taken the port: %v", err)
	}
	serveOn(t, l, answers(chunk(stop, text("hi"))))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	for limit.Err() == nil {
		if _, _, err = ask(t, p, hello(), false); err == nil {
			return
		}
		<-again.C
	}
	t.Errorf("still %v", err)
}

func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	for name, reset := range map[string]bool{"FIN": false, "RST": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cutAfter := func(first ...*message) func(*call) error {
				return func(c *call) error {
					_ = c.send(first...)
					c.server.accept.cut(reset)
					return c.hang()
				}
			}
			both(t, func(t *testing.T, stream bool) {
				t.Helper()
				_, _, err := ask(t, serve(t, cutAfter()).provider(t), hello(), stream)
				if e := failed(t, err, llm.ErrConnection); e.NotSent || e.Status != 0 {
					t.Errorf("before anything came: got %+v", e)
				}
			})
			s := serve(t, func(c *call) error {
				_ = c.send(chunk(none, text("half")))
				return c.hang()
			})
			var seen []string
			_, err := s.provider(t).Generate(t.Context(), hello(), func(e llm.Event) error {
				seen = append(seen, e.Delta)
				s.accept.cut(reset)
				return nil
			})
			e := failed(t, err, llm.ErrInterrupted)
			if e.Code != "stream_cut" || e.Status != 200 || e.Partial.Text() != "half" || len(seen) != 1 {
				t.Errorf("got %+v after %q", e, seen)
			}
		})
	}
}

// Without the end mark there is no answer, however well the stream ends.
func TestAStreamThatEndsWithoutAFinishReason(t *testing.T) {
	t.Parallel()
	_, _, err := ask(t, serve(t, answers(chunk(none, text("half")))).provider(t), hello(), true)
	if e := failed(t, err, llm.ErrInterrupted); e.Partial.Text() != "half" {
		t.Errorf("got %+v", e)
	}
}

// The SDK's stream has no Close: the call must end on the server too, whatever ends it here.
func TestNoCallIsLeftRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last *message
		sink func(cancel func()) error
		kind llm.Kind
	}{
		"after the end mark": {counted(chunk(stop, text("done"))), func(func()) error { return nil }, ""},
		"sink error":         {chunk(none, text("half")), func(func()) error { return errSink }, llm.ErrUnknown},
		"cancel":             {chunk(none, text("half")), func(cancel func()) error { cancel(); return nil }, llm.ErrCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			s := serve(t, func(call *call) error {
				defer close(gone)
				_ = call.send(c.last)
				return call.hang()
			})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := s.provider(t).Generate(ctx, hello(), func(llm.Event) error { return c.sink(cancel) })
			if llm.KindOf(err) != c.kind {
				t.Errorf("got %v", err)
			}
			limit, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			select {
			case <-gone:
			case <-limit.Done():
				t.Error("the call still runs on the server")
			}
		})
	}
}

var errSink = errors.New("the sink has enough")

func TestDeadlinesTravelAndAreTheCallers(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		s := serve(t, func(c *call) error { return c.hang() })
		p := s.provider(t)
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			var sink llm.Sink
			if stream {
				sink = func(llm.Event) error { return nil }
			}
			_, err := p.Generate(ctx, hello(), sink)
			cancel()
			if e := failed(t, err, llm.ErrDeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) || e.Status != 0 {
				t.Fatalf("got %+v", e)
			}
		}
		if left := s.last(t).left; left <= 0 || left > 31*time.Millisecond {
			t.Errorf("the server was told %v", left)
		}
	})
}

// The service learns the deadline of a call, and may be the first to say that it is over.
func TestADeadlineThatTheServiceSeesFirst(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		s := serve(t, func(c *call) error {
			at, _ := c.ctx.Deadline()
			early := time.NewTimer(time.Until(at) - 20*time.Millisecond)
			defer early.Stop()
			<-early.C
			return status.Error(codes.DeadlineExceeded, "")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		var sink llm.Sink
		if stream {
			sink = func(llm.Event) error { return nil }
		}
		_, err := s.provider(t).Generate(ctx, hello(), sink)
		_ = failed(t, err, llm.ErrDeadlineExceeded)
	})
}

// The service's own limits are not the caller's.
func TestALimitOfTheService(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		s := serve(t, func(*call) error { return status.Error(codes.DeadlineExceeded, "") })
		_, _, err := ask(t, s.provider(t), hello(), stream)
		if e := failed(t, err, llm.ErrTimeout); e.Status != 504 || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %+v", e)
		}
	})
}

func TestNothingIsOpenedBeforeTheFirstCallAndCloseLeavesCallsAlone(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, func(c *call) error {
		close(begun)
		<-finish
		return c.send(chunk(stop, text("hi")))
	})
	p := s.provider(t)
	if n := s.accept.n.Load(); n != 0 {
		t.Fatalf("%d connections before the first call", n)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := p.Generate(t.Context(), hello(), nil)
		answer <- err
	}()
	<-begun
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	close(finish)
	if err := <-answer; err != nil {
		t.Errorf("the call was cut: %v", err)
	}
	s.handle = answers(chunk(stop, text("again")))
	if r, err := p.Generate(t.Context(), hello(), nil); err != nil || r.Text() != "again" || s.accept.n.Load() != 2 {
		t.Errorf("after Close: %v, %d connections", err, s.accept.n.Load())
	}
}

// A source of tokens that hangs holds no call, and sends nothing.
func TestATokenSourceThatHangs(t *testing.T) {
	t.Parallel()
	s := serve(t, answers(chunk(stop, text("hi"))))
	leave := make(chan struct{})
	t.Cleanup(func() { close(leave) })
	p := s.provider(t, func(o *vertex.Options) {
		o.TokenSource = func(context.Context) (string, error) { <-leave; return "", errSink }
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.Generate(ctx, hello(), nil)
	if e := failed(t, err, llm.ErrDeadlineExceeded); !e.NotSent || s.accept.n.Load() != 0 {
		t.Errorf("got %+v", e)
	}
}

func TestNoErrorHasThePromptOrTheToken(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *call) error { return status.Error(codes.InvalidArgument, "no: canary") })
	req := hello()
	req.System = "canary"
	_, _, err := ask(t, s.provider(t), req, true)
	e := failed(t, err, llm.ErrInvalid)
	if text := err.Error() + e.Err.Error(); strings.Contains(text, "canary") || strings.Contains(text, "token-1") {
		t.Error(text)
	}
}
