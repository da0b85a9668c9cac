package mock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/bench/mock"
)

// fates of three calls, of which the second is the lucky one.
func fates() mock.Fates {
	f := make(mock.Fates, 3)
	for i := range f {
		for nth := range f[i] {
			f[i][nth] = mock.Fate{Latency: time.Duration(20*(nth+1)) * time.Millisecond}
		}
	}
	f[1][0].Luck = 0.9
	return f
}

func start(t *testing.T, o mock.Options) *mock.Server {
	t.Helper()
	o.Fates = fates()
	s, err := mock.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// post sends a request of a call, and gives up after limit.
func post(t *testing.T, s *mock.Server, call int, streamed bool, limit time.Duration) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	body := fmt.Sprintf(`{"stream":%t,"messages":[{"role":"user","content":"%s%d."}]}`, streamed, mock.Marker, call)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestAHealthyMockAnswersWholeAfterItsLatency(t *testing.T) {
	t.Parallel()
	s := start(t, mock.Options{})
	for nth := 1; nth <= 2; nth++ { // each request of a call has a fate of its own
		begun := time.Now()
		resp, err := post(t, s, 0, false, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Choices) != 1 || answer.Choices[0].Message.Content != mock.Text {
			t.Errorf("answer %+v", answer)
		}
		if took, least := time.Since(begun), time.Duration(20*nth)*time.Millisecond; took < least {
			t.Errorf("request %d took %v, want %v at the least", nth, took, least)
		}
	}
	if s.Asked() != 2 {
		t.Errorf("%d requests counted, want 2", s.Asked())
	}
}

func TestAStreamedAnswerComesInPieces(t *testing.T) {
	t.Parallel()
	s := start(t, mock.Options{First: 0.5})
	begun := time.Now()
	resp, err := post(t, s, 0, true, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 10*time.Millisecond {
		t.Errorf("the headers came after %v, want half of 20 ms", took)
	}
	var text strings.Builder
	done := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		text.WriteString(chunk.Choices[0].Delta.Content)
	}
	if text.String() != mock.Text || !done {
		t.Errorf("got %d bytes of %d, end mark %t", text.Len(), len(mock.Text), done)
	}
	if took := time.Since(begun); took < 20*time.Millisecond {
		t.Errorf("the stream took %v, want 20 ms at the least", took)
	}
}

func TestAFaultIsMetByItsShare(t *testing.T) {
	t.Parallel()
	for mode, want := range map[mock.Mode]int{mock.Throttle: http.StatusTooManyRequests, mock.Fail: http.StatusInternalServerError} {
		s := start(t, mock.Options{Mode: mode, Share: 0.5})
		for call, want := range []int{want, http.StatusOK, want} {
			resp, err := post(t, s, call, false, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != want {
				t.Errorf("%s: call %d: status %d, want %d", mode, call, resp.StatusCode, want)
			}
			if wait := resp.Header.Get("Retry-After"); (wait == "30") != (want == http.StatusTooManyRequests) {
				t.Errorf("%s: call %d: Retry-After %q", mode, call, wait)
			}
		}
	}
}

func TestAHangEndsWithItsClient(t *testing.T) {
	t.Parallel()
	s := start(t, mock.Options{Mode: mock.Hang})
	if _, err := post(t, s, 0, false, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hanging mock gave %v", err)
	}
	shut(t, s)
}

func TestATrickleSendsHeadersAndNoAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, mock.Options{Mode: mock.Trickle})
	resp, err := post(t, s, 0, false, 350*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if len(text) == 0 || len(text) > 4 || err == nil {
		t.Errorf("got %q, %v; want one to four bytes and the end of the context", text, err)
	}
	shut(t, s)
}

// shut waits until the mock has noticed that nobody waits any more.
func shut(t *testing.T, s *mock.Server) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		if s.Open() == 0 {
			return
		}
		<-tick.C
	}
	t.Errorf("%d requests are open after 5 s", s.Open())
}

func TestNoFatesIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := mock.Start(t.Context(), mock.Options{}); err == nil {
		t.Error("a mock without fates started")
	}
}
