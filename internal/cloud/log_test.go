package cloud

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLogHoldsEachRequestOnce(t *testing.T) {
	var mu sync.Mutex
	heard := map[int]int{}
	l := &Log{Epoch: time.Now().Add(-time.Hour), OnRequest: func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Open {
			t.Error("heard of a request that has not ended")
		}
		heard[r.N]++
	}}
	h := l.Handler(func(x *Exchange) {
		x.Describe("m", true)
		x.Play(Reply{Status: 201})
	})
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/a%2Fb?x=1", strings.NewReader("body")))
		})
	}
	clients.Wait()
	for i, r := range l.Requests() {
		if r.N != i+1 || heard[r.N] != 1 || r.Time < time.Hour || r.Open || r.Took <= 0 {
			t.Errorf("request %d, heard %d times: %+v", i, heard[r.N], r)
		}
		if r.Path != "/a%2Fb" || r.Query != "x=1" || r.Method != "POST" || string(r.Body) != "body" ||
			r.Model != "m" || !r.Stream || r.Status != 201 {
			t.Errorf("logged %+v", r)
		}
	}
	if len(heard) != 20 {
		t.Errorf("heard of %d requests", len(heard))
	}
}

func TestLogMasksCredentials(t *testing.T) {
	l := &Log{}
	r := httptest.NewRequest(http.MethodPost, "/?key=SECRET&alt=sse", nil)
	for name, value := range map[string]string{
		"Authorization": "Bearer SECRET", "Api-Key": "SECRET", "X-Goog-Api-Key": "SECRET", "X-Amz-Security-Token": "SECRET",
		"Accept": "text/event-stream",
	} {
		r.Header.Set(name, value)
	}
	l.Handler(func(x *Exchange) {
		if x.R.Header.Get("Api-Key") != "SECRET" {
			t.Error("the handler does not see the credential")
		}
	}).ServeHTTP(httptest.NewRecorder(), r)
	got := l.Requests()[0]
	if got.Query != "key=***&alt=sse" || got.Header.Get("Authorization") != "Bearer ***" ||
		got.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("logged %q, %v", got.Query, got.Header)
	}
	for name, values := range got.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "SECRET") }) {
			t.Errorf("%s holds the credential", name)
		}
	}
}

func TestLogBoundsBodies(t *testing.T) {
	l := &Log{MaxBody: 4}
	h := l.Handler(func(x *Exchange) {
		again, _ := io.ReadAll(x.R.Body)
		if !errors.Is(x.BodyErr, ErrBodyTooLarge) || string(x.Body) != "1234" || string(again) != "1234" {
			t.Errorf("%v, %q, %q", x.BodyErr, x.Body, again)
		}
	})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("12345")))
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	l := &Log{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if err := l.Wait(ctx, 0); err != nil {
		t.Errorf("Wait for nothing: %v", err)
	}
}

func TestLogKeepsABoundedNumber(t *testing.T) {
	t.Parallel()
	for keep, want := range map[int]int{0: 9, 2: 2} {
		l := &Log{Keep: keep}
		h := l.Handler(func(x *Exchange) { x.SetStatus(200) })
		for range 9 {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		}
		got := l.Requests()
		if err := l.Wait(t.Context(), 9); err != nil || len(got) != want || got[want-1].N != 9 || got[want-1].Status != 200 {
			t.Errorf("keep %d: %d requests, %v", keep, len(got), err)
		}
	}
}
