package cloud

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCloseEndsWhatHangs: with handlers that hang over both protocols, Close returns and leaves nothing behind
// (see TestMain).
func TestCloseEndsWhatHangs(t *testing.T) {
	s, l := serve(t, Reply{Wait: Never})
	var clients sync.WaitGroup
	for _, http2 := range []bool{false, true, false, true} {
		clients.Go(func() {
			if resp, err := post(t.Context(), t, s.URL, http2); err == nil {
				resp.Body.Close()
				t.Error("an answer came")
			}
		})
	}
	arrived(t, l, 4)
	s.Close()
	s.Close()
	l.Drain()
	clients.Wait()
	for _, r := range l.Requests() {
		if r.Open || !r.Gone {
			t.Errorf("logged %+v", r)
		}
	}
}

// arrived polls until n requests have come, which no event tells.
func arrived(t *testing.T, l *Log, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(l.Requests()) < n {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended")
		}
	}
}

func TestListenFailsOnATakenPort(t *testing.T) {
	s, _ := serve(t, Reply{})
	if _, err := Listen(strings.TrimPrefix(s.URL, "http://"), http.NotFoundHandler()); err == nil {
		t.Error("two servers on one port")
	}
}

func TestBlackHoleTakesNoConnection(t *testing.T) {
	h, err := BlackHole()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(h.URL, "http://"))
	if err == nil {
		conn.Close()
		t.Skip("this system's queue cannot be filled")
	}
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("the connect failed with %v instead of hanging", err)
	}
}
