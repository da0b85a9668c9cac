package vertex_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

func TestAStreamInManyForms(t *testing.T) {
	t.Parallel()
	one, two, last := chunk(text("one "), ""), chunk(text("two"), ""), counted(chunk(text(""), "STOP"))
	lf := "data: " + one + "\n\ndata: " + two + "\n\ndata: " + last + "\n\n"
	for name, test := range map[string]struct{ contentType, body string }{
		"crlf":            {"text/event-stream", data(one) + data(two) + data(last)},
		"lf":              {"text/event-stream; charset=utf-8", lf},
		"comments":        {"text/event-stream", ": ping\n\n" + data(one) + strings.Repeat(": ping\n\n", 400) + data(two) + data(last)},
		"no last line":    {"text/event-stream", data(one) + data(two) + "data: " + last},
		"done mark":       {"text/event-stream", lf + "data: [DONE]\n\n"},
		"event lines":     {"text/event-stream", "event: message\nid: 1\n" + data(one) + data(two) + data(last)},
		"no label":        {"", lf},
		"wrong label":     {"application/json", ": hello\n\n" + lf},
		"list":            {"application/json", "[" + one + "\n,\r\n" + two + ",\n" + last + "\n]\n"},
		"list in one":     {"text/event-stream", "data: [" + one + "," + two + "," + last + "]\n\n"},
		"whole answer":    {"application/json", counted(chunk(text("one ")+","+text("two"), "STOP"))},
		"pretty answer":   {"application/json", strings.ReplaceAll(counted(chunk(text("one ")+","+text("two"), "STOP")), ",", ",\n  ")},
		"second answer":   {"text/event-stream", data(strings.ReplaceAll(one, `"index":0`, `"index":1`)) + lf},
		"behind the list": {"application/json", "[" + one + "," + two + "," + last + "]garbage"},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if test.contentType != "" {
				w.Header().Set("Content-Type", test.contentType)
			}
			_, _ = io.WriteString(w, test.body)
		})
		got, resp, err := stream(t, s.provider(t), hello())
		if err != nil || resp.Text() != "one two" || resp.Finish != llm.FinishStop || !resp.Usage.Reported || len(got) < 2 && name != "pretty answer" {
			t.Errorf("%s: %v %+v, %+v", name, got, resp, err)
		}
	}
}

func TestAListStreamsAsItGrows(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "["+chunk(text("one"), ""))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-next:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, ","+counted(chunk(text("two"), "STOP"))+"]")
	})
	var seen []string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := s.provider(t).Generate(ctx, hello(), func(e llm.Event) error {
		if seen = append(seen, e.Delta); len(seen) == 1 {
			close(next)
		}
		return nil
	})
	if err != nil || resp.Text() != "onetwo" || len(seen) != 2 {
		t.Errorf("%q %+v %v", seen, resp, err)
	}
}

func TestHowStreamsEnd(t *testing.T) {
	t.Parallel()
	bare := said("some") + data(chunk(text(""), "STOP")) // without a count
	const busy = `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		kind   llm.Kind
		code   string
	}{
		"well":                       {events(said("some"), stop()), "", ""},
		"no count":                   {events(bare), "", ""},
		"held open":                  {thenHang(said("some"), stop()), "", ""},
		"held open without a count":  {thenHang(bare), "", ""},
		"aborted behind the end":     {thenAbort(said("some"), stop()), "", ""},
		"garbage behind the end":     {events(said("some"), stop(), "data: {\"candidates\": [{\n\n"), "", ""},
		"no end mark":                {events(said("some")), llm.ErrInterrupted, "no_end_mark"},
		"done mark alone":            {events(said("some"), "data: [DONE]\n\n"), llm.ErrInterrupted, "no_end_mark"},
		"aborted":                    {thenAbort(said("some")), llm.ErrInterrupted, "stream_cut"},
		"inside an event":            {events(said("some"), said("more")[:30]), llm.ErrInterrupted, "stream_cut"},
		"aborted inside an event":    {thenAbort(said("some"), said("more")[:30]), llm.ErrInterrupted, "stream_cut"},
		"no JSON":                    {events(said("some"), "data: oops\n\n"), llm.ErrBadOutput, "malformed_answer"},
		"error":                      {events(said("some"), data(busy)), llm.ErrUnavailable, "UNAVAILABLE"},
		"spaced error":               {events(said("some"), "data: { \"error\" : "+busy[9:]+"\n\n"), llm.ErrUnavailable, "UNAVAILABLE"},
		"bare error":                 {events(said("some"), busy), llm.ErrUnavailable, "UNAVAILABLE"},
		"error event":                {events(said("some"), "event: error\ndata: {\"code\":503,\"status\":\"UNAVAILABLE\"}\n\n"), llm.ErrUnavailable, "UNAVAILABLE"},
		"error, then held open":      {thenHang(said("some"), data(busy)), llm.ErrUnavailable, "UNAVAILABLE"},
		"error behind a finish":      {events(data(chunk(text("some"), "STOP")), data(busy)), "", ""},
		"error whose code is a word": {events(said("some"), data(`{"error":{"code":"busy","message":"m"}}`)), llm.ErrUnavailable, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, resp, err := stream(t, serve(t, test.handle).provider(t), hello())
			if resp == nil || resp.Text() != "some" || len(got) != 1 {
				t.Fatalf("%v %+v, %+v", got, resp, err)
			}
			if test.kind == "" {
				if err != nil {
					t.Errorf("%+v", err)
				}
				return
			}
			if e := failed(t, err, test.kind); e.Code != test.code || e.Status != 200 || e.Partial != resp {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAStreamOfNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contentType, body string
		kind              llm.Kind
	}{
		"no event": {"text/event-stream", "", llm.ErrInterrupted},
		"no list":  {"application/json", "[]", llm.ErrInterrupted},
		"cut list": {"application/json", "[{},", llm.ErrInterrupted},
		"html":     {"text/html", "<html></html>", llm.ErrBadOutput},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", test.contentType)
			_, _ = io.WriteString(w, test.body)
		})
		_, _, err := stream(t, s.provider(t), hello())
		if e := failed(t, err, test.kind); e.Partial != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Servers of old wrote STOP into every event; what comes behind the first is part of the answer.
func TestAFinishInEveryEvent(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(data(chunk(text("one "), "STOP")), data(chunk(text("two "), "STOP")), data(counted(chunk(text("three"), "STOP")))))
	if resp.Text() != "one two three" || len(resp.Message.Parts) != 1 {
		t.Errorf("%+v", resp)
	}
}

func TestTheLastCountOfAStreamCounts(t *testing.T) {
	t.Parallel()
	count := func(in, out string) string {
		return strings.TrimSuffix(chunk(text("x"), ""), "}") + `,"usageMetadata":{"promptTokenCount":` + in + `,"candidatesTokenCount":` + out + `}}`
	}
	_, resp := streamed(t, events(data(count("5", "0")), data(count("5", "2")), data(`{"usageMetadata":{"trafficType":"ON_DEMAND"}}`), data(chunk("", "STOP"))))
	if u := (llm.Usage{Input: 5, Output: 2, Reported: true}); resp.Usage != u {
		t.Errorf("%+v", resp.Usage)
	}
}

func TestASignatureBehindAText(t *testing.T) {
	t.Parallel()
	got, resp := streamed(t, events(said("some "), said("text"), data(counted(chunk(`{"text":"","thoughtSignature":"AQ=="}`, "STOP")))))
	want, ok := resp.Message.Parts[0].(llm.Text)
	if len(resp.Message.Parts) != 1 || !ok || want.Text != "some text" || string(want.Signature) != "\x01" || len(got) != 2 {
		t.Errorf("%+v", resp.Message.Parts)
	}
}

func TestADeadlineOnTheWireIsFloored(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	p := s.provider(t)
	for limit, want := range map[time.Duration][]string{
		0: {""}, 500 * time.Millisecond: {""}, 90*time.Second + 900*time.Millisecond: {"90"},
	} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if limit > 0 {
			ctx, cancel = context.WithTimeout(ctx, limit)
		}
		if _, err := p.Generate(ctx, hello(), nil); err != nil {
			t.Error(err)
		}
		cancel()
		if got := s.Last(t).Header.Get("X-Server-Timeout"); got != want[0] {
			t.Errorf("limit %v: x-server-timeout %q, want %q", limit, got, want[0])
		}
	}
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from[r.RemoteAddr] = true
		events(said("some"), stop())(w, r)
	})
	p := s.provider(t)
	for range 5 {
		if _, _, err := stream(t, p, hello()); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 {
		t.Errorf("%d connections for five streams, one after the other", len(from))
	}
}

func TestAnErrorOfTheSinkComesBackAsItWas(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	s := serve(t, thenHang(said("one"), said("two")))
	_, err := s.provider(t).Generate(t.Context(), hello(), func(llm.Event) error { return mine })
	if err != mine { //nolint:errorlint // it is that very one
		t.Errorf("%v", err)
	}
}
