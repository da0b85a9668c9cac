package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// fail completes e with what is known of the exchange, and with what had arrived.
func (a *answer) fail(e *llm.Error) (*llm.Response, error) {
	if status := a.wire.Status(); status != 0 && e.Status == 0 {
		known := llm.HTTPError(status, a.wire.Header(), nil)
		e.RequestID = known.RequestID
		if status >= 300 || e.Kind != llm.ErrCanceled && e.Kind != llm.ErrDeadlineExceeded {
			e.Status = status
		}
	}
	e.Partial = a.partial()
	return e.Partial, e
}

// refused is for a call without a 2xx response.
func (a *answer) refused(err error) (*llm.Response, error) {
	status := a.wire.Status()
	switch {
	case a.ctx.Err() != nil:
		return a.fail(ended(a.ctx, !a.wire.Sent()))
	case errors.Is(err, errPanic):
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "sdk_panic", NotSent: !a.wire.Sent(), Err: err})
	case status != 0:
		e := llm.HTTPError(status, a.wire.Header(), a.wire.ErrorBody())
		if a.wire.Redirect() != "" && e.Code == "" {
			e.Code = "redirected"
		}
		e.Err = secret.Cause(err)
		return a.fail(e)
	}
	return a.fail(&llm.Error{Kind: llm.ErrConnection, Code: httpx.ConnectionCode(err), NotSent: !a.wire.Sent(), Err: secret.Cause(err)})
}

// reported is for an error inside a 200. The payload is the error itself, or an object around it.
func (a *answer) reported(payload json.RawMessage, sdkErr error) (*llm.Response, error) {
	e := llm.HTTPError(a.wire.Status(), a.wire.Header(), bounds.ErrorBody(payload))
	e.Err = secret.Cause(sdkErr)
	return a.fail(e)
}

// filtered is for an answer that the content filter cut or withheld.
func (a *answer) filtered() (*llm.Response, error) {
	payload := []byte(`{"error":{"code":"content_filter"`)
	if len(a.filters) > 0 {
		payload = append(append(payload, `,"content_filter_results":`...), a.filters...)
	}
	return a.reported(append(payload, "}}"...), nil)
}

// filterResults takes the verdict of Azure's filter out of the chunk with the finish reason.
func filterResults(raw []byte) json.RawMessage {
	var c struct {
		Choices [1]struct {
			Results json.RawMessage `json:"content_filter_results"`
		}
	}
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	return c.Choices[0].Results
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, notSent bool) *llm.Error {
	return &llm.Error{Kind: llm.KindOf(ctx.Err()), NotSent: notSent, Err: context.Cause(ctx)}
}

// saysExpired reports whether a service refused a credential because it is too old.
func saysExpired(e *llm.Error, header http.Header) bool {
	if e.Status != http.StatusUnauthorized {
		return false
	}
	words := strings.ToLower(e.Code + " " + e.Message + " " + header.Get("Www-Authenticate"))
	return strings.Contains(words, "expired")
}
