package bedrock_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

func TestAnErrorInPlaceOfAStreamIsThatError(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	long := strings.Repeat("x", 256<<10)
	for name, c := range map[string]struct {
		contentType, body string
		kind              llm.Kind
		code              string
	}{
		"throttled":            {json, `{"__type":"com.amazon#ThrottlingException","message":"x"}`, llm.ErrRateLimited, "ThrottlingException"},
		"with a charset":       {json + "; charset=utf-8", `{"__type":"ThrottlingException","message":"x"}`, llm.ErrRateLimited, "ThrottlingException"},
		"behind blanks":        {json, "\r\n " + `{"__type":"ThrottlingException"}`, llm.ErrRateLimited, "ThrottlingException"},
		"of another type":      {"application/x-amz-json-1.1", `{"__type":"AccessDeniedException"}`, llm.ErrAuth, "AccessDeniedException"},
		"labelled as a stream": {eventStream, `{"__type":"ThrottlingException","message":"x"}`, llm.ErrRateLimited, "ThrottlingException"},
		"long":                 {json, `{"__type":"ThrottlingException","message":"` + long + `"}`, llm.ErrRateLimited, "ThrottlingException"},
		"of a gateway":         {json, `{"error":{"message":"m","code":"rate_limit_exceeded"}}`, llm.ErrRateLimited, "rate_limit_exceeded"},
		"no error":             {json, ok, llm.ErrBadOutput, "no_event_stream"},
		"no object":            {json, " 1 ", llm.ErrBadOutput, "no_event_stream"},
		"half of it":           {json, `{"__type":"Thr`, llm.ErrBadOutput, "no_event_stream"},
		"nothing":              {json, "", llm.ErrBadOutput, "no_event_stream"},
	} {
		resp, err := canned(t, 200, c.contentType, []byte(c.body)).Generate(t.Context(), hello(), func(llm.Event) error { return nil })
		e := failed(t, err, c.kind)
		if e.Code != c.code || e.Status != 200 || e.NotSent || resp != nil || len(e.Message) > 512 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestAnErrorInPlaceOfAStreamIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"__type":"ThrottlingException","message":"x"}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	start := time.Now()
	_, _, err := stream(t, s.provider(t), hello())
	e := failed(t, err, llm.ErrRateLimited)
	if took := time.Since(start); took > patience/2 || e.NotSent {
		t.Errorf("took %v", took)
	}
}

func TestAStreamThatIsLabelledAsJSONIsRead(t *testing.T) {
	t.Parallel()
	body := begin() + text(0, "hi") + stop("end_turn") + metadata()
	resp, err := canned(t, 200, "application/json", []byte(body)).Generate(t.Context(), hello(), func(llm.Event) error { return nil })
	if err != nil || resp.Text() != "hi" {
		t.Errorf("%+v, %v", resp, err)
	}
}
