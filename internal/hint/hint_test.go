package hint_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/hint"
	"github.com/punctual-llm/punctual/llm"
)

const name = "X-UiPath-LLMGateway-TimeoutSeconds"

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want deadline.Header
		err  string
	}{
		{`{"header":"` + name + `","unit":"s","configured":895}`, deadline.Header{Name: name, Unit: time.Second, Max: 895 * time.Second}, ""},
		{`{"header":"X-Left","unit":"ms","configured":2500}`, deadline.Header{Name: "X-Left", Unit: time.Millisecond, Max: 2500 * time.Millisecond}, ""},
		{`{"header":"X-Left"}`, deadline.Header{Name: "X-Left", Unit: time.Millisecond}, ""},
		{`{"header":"X-Left","unit":"s","configured":86400}`, deadline.Header{Name: "X-Left", Unit: time.Second, Max: 24 * time.Hour}, ""},
		{`{"header":"X-Left","unit":"s","configured":86401}`, deadline.Header{}, "hint.configured: is longer than a day (check the unit)"},
		{`{"header":"X-Left","unit":"ms","configured":9223372036854775807}`, deadline.Header{}, "hint.configured: is longer than a day"},
		{`{"header":"X-Left","configured":-1}`, deadline.Header{}, "hint.configured: is below zero"},
		{`{"header":"X-Left","unit":"seconds"}`, deadline.Header{}, "hint.unit: is unknown (use s or ms)"},
		{`{"unit":"s"}`, deadline.Header{}, "hint.header: is empty"},
	} {
		var s *hint.Settings
		if err := json.Unmarshal([]byte(tt.text), &s); err != nil {
			t.Fatal(err)
		}
		h, err := s.Open()
		switch {
		case tt.err == "" && err == nil:
			if *h != tt.want {
				t.Errorf("%s: %+v", tt.text, *h)
			}
		case tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) || !errors.Is(err, llm.ErrInvalid):
			t.Errorf("%s: error is %v, want %q", tt.text, err, tt.err)
		}
	}
	var none *hint.Settings
	if h, err := none.Open(); h != nil || err != nil {
		t.Errorf("no settings: %v, %v", h, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		h    deadline.Header
		name string
		err  string
	}{
		{deadline.Header{}, "X-Deadline-Ms", ""},
		{deadline.Header{Name: name}, name, ""},
		{deadline.Header{Name: "X-Server-Timeout"}, "X-Server-Timeout", ""},
		{deadline.Header{Name: "x left"}, "", "characters that no header has"},
		{deadline.Header{Name: "X-Left:"}, "", "characters that no header has"},
		{deadline.Header{Name: "X-Läuft"}, "", "characters that no header has"},
		{deadline.Header{Name: "authorization"}, "", "needs for something else"},
		{deadline.Header{Name: "API-Key"}, "", "needs for something else"},
		{deadline.Header{Name: "Content-Length"}, "", "needs for something else"},
		{deadline.Header{Name: "X-Amz-Date"}, "", "needs for something else"},
		{deadline.Header{Name: "grpc-timeout"}, "", "needs for something else"},
		{deadline.Header{Name: "Keep-Alive"}, "", "needs for something else"},
		{deadline.Header{Name: "proxy-connection"}, "", "needs for something else"},
		{deadline.Header{Name: "OpenAI-Organization"}, "", "needs for something else"},
		{deadline.Header{Unit: time.Second, Max: time.Second}, "X-Deadline-Ms", ""},
		{deadline.Header{Unit: time.Second, Max: time.Second - 1}, "", "hint: has a Max below its Unit, so that nothing is ever sent (raise Max or take a smaller Unit)"},
		{deadline.Header{Max: 1}, "", "has a Max below its Unit"},
		{deadline.Header{Unit: 25 * time.Hour}, "", "longer than a day"},
		{deadline.Header{Hop: 25 * time.Hour}, "", "longer than a day"},
		{deadline.Header{Unit: -1}, "", "below zero"},
		{deadline.Header{Hop: -1}, "", "below zero"},
		{deadline.Header{Max: -1}, "", "below zero"},
	} {
		own, err := hint.Check(&tt.h)
		if tt.err == "" && (err != nil || own.Name != tt.name || own == &tt.h) ||
			tt.err != "" && (!errors.Is(err, llm.ErrInvalid) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%+v: %+v, %v", tt.h, own, err)
		}
	}
	if own, err := hint.Check(nil); own != nil || err != nil {
		t.Errorf("nil: %v, %v", own, err)
	}
}

func TestHook(t *testing.T) {
	t.Parallel()
	if hint.Hook(nil, nil) != nil {
		t.Error("a hook that does nothing")
	}
	mine := errors.New("mine")
	fails := func(context.Context, http.Header) error { return mine }
	if err := hint.Hook(nil, fails)(t.Context(), nil); !errors.Is(err, mine) {
		t.Errorf("without a hint: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := deadline.With(t.Context(), 42*time.Second+700*time.Millisecond, nil)
		defer cancel()
		h := &deadline.Header{Name: name, Unit: time.Second, Max: 895 * time.Second}
		high := func(_ context.Context, header http.Header) error { header.Set(name, "900"); return nil }
		low := func(_ context.Context, header http.Header) error { header.Set(name, "7"); return nil }
		for _, tt := range []struct {
			next func(context.Context, http.Header) error
			want string
			err  error
		}{{nil, "42", nil}, {high, "42", nil}, {low, "7", nil}, {fails, "", mine}} {
			header := make(http.Header)
			if err := hint.Hook(h, tt.next)(ctx, header); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if got := header.Get(name); got != tt.want {
				t.Errorf("header %q, want %q", got, tt.want)
			}
		}
	})
}
