package vertex

import (
	"encoding/json"
	"errors"
	"io"
	"mime"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/internal/sse"
	"github.com/punctual-llm/punctual/llm"
)

// refused is for a call without a 2xx response.
func (r *genaiReply) refused(sdkErr error) *llm.Error {
	w := r.wire
	switch status := w.Status(); {
	case errors.Is(sdkErr, errPanic):
		return &llm.Error{Kind: llm.ErrBadOutput, Code: "sdk_panic", NotSent: !w.Sent(), Err: sdkErr}
	case status != 0:
		e := llm.HTTPError(status, w.Header(), w.ErrorBody())
		if w.Redirect() != "" && e.Code == "" {
			e.Code = "redirected"
		}
		e.Err = secret.Cause(sdkErr)
		return e
	}
	return &llm.Error{
		Kind: llm.ErrConnection, Code: httpx.ConnectionCode(sdkErr), NotSent: !w.Sent(), Err: secret.Cause(sdkErr),
	}
}

// reported is for an error inside a 200. The payload is the error itself.
func (r *genaiReply) reported(payload json.RawMessage) error {
	e := llm.HTTPError(r.wire.Status(), r.wire.Header(), bounds.ErrorBody(payload))
	return &gemini.Failure{Err: e, Reported: true}
}

// broken is for a 2xx body that did not come to a good end.
func (r *genaiReply) broken(err error) *llm.Error {
	w := r.wire
	e := &llm.Error{Kind: llm.ErrBadOutput, Code: "malformed_answer", Err: err}
	switch {
	case errors.Is(err, bounds.TooLarge), errors.Is(err, sse.ErrTooLarge):
		e.Code = string(bounds.TooLarge)
	case errors.Is(err, errNoEvents):
		e.Code = "no_event_stream"
	case w.body.malformed && !w.Cut() && !w.body.unfinished() && (r.stream || !errors.Is(err, io.ErrUnexpectedEOF)):
		if errors.Is(err, io.EOF) {
			e.Code = "empty_body"
		}
	case r.stream:
		e.Kind, e.Code = llm.ErrInterrupted, "stream_cut"
	default:
		e.Kind, e.Code = llm.ErrConnection, "body_cut"
	}
	return e
}

// Describe adds what the response said of itself. When the context ended a call, a status of success says nothing.
func (r *genaiReply) Describe(e *llm.Error) {
	status := r.wire.Status()
	if status == 0 || e.Status != 0 {
		return
	}
	e.RequestID = llm.HTTPError(status, r.wire.Header(), nil).RequestID
	if status >= 300 || e.Kind != llm.ErrCanceled && e.Kind != llm.ErrDeadlineExceeded {
		e.Status = status
	}
}

// isEventStream reports whether a content type may stand in front of a stream.
func isEventStream(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/event-stream"
}
